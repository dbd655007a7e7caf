#include <gtest/gtest.h>

#include "records/example/read_alike.h"
#include "seeded_random.h"

/// Random bytes that are almost SequenceExamples, read by libprotobuf and by us.
namespace infeed {
namespace {

using test::WildExamples;

TEST(SequenceExampleDifferential, agrees_with_protobuf_on_wild_examples) {
  const auto draw = [](WildExamples& wild) { return wild.draw_sequence(); };
  EXPECT_EQ(test::valid_read_alike(10'000, draw, &test::compare_sequence_with_protobuf), 10'000);
}

TEST(SequenceExampleDifferential, agrees_with_protobuf_on_mutated_examples) {
  const auto draw = [](WildExamples& wild) { return wild.mutated(wild.draw_sequence()); };
  EXPECT_GT(test::valid_read_alike(30'000, draw, &test::compare_sequence_with_protobuf), 500);
}

TEST(SequenceExampleDifferential, protobuf_reads_what_we_build) {
  test::SeededRandom random;
  for (int round = 0; round < 300; ++round) {
    SequenceExampleBuilder builder;
    builder.context().integers("label", round);
    FeatureListBuilder& tokens = builder.list("tokens");
    std::vector<std::vector<std::int64_t>> expected(random() % 20);
    for (std::vector<std::int64_t>& step : expected) {
      for (std::size_t n = random() % 5; n > 0; --n) {
        step.push_back(static_cast<std::int64_t>(random() >> random() % 64));
      }
      tokens.integers(step);
    }
    builder.list("frames").bytes("x").bytes(std::string(300, 'y')).nothing();
    reference::SequenceExample message;
    ASSERT_TRUE(message.ParseFromString(builder.encode()));
    EXPECT_EQ(message.context().feature().at("label").int64_list().value(0), round);
    const auto& lists = message.feature_lists().feature_list();
    ASSERT_EQ(lists.size(), 2U);
    const auto& steps = lists.at("tokens").feature();
    ASSERT_EQ(steps.size(), static_cast<int>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto& values = steps.at(static_cast<int>(i)).int64_list().value();
      ASSERT_TRUE(std::equal(values.begin(), values.end(), expected[i].begin(), expected[i].end()));
    }
    const auto& frames = lists.at("frames").feature();
    ASSERT_EQ(frames.size(), 3);
    EXPECT_EQ(frames.at(1).bytes_list().value(0), std::string(300, 'y'));
    EXPECT_EQ(frames.at(2).kind_case(), reference::Feature::KIND_NOT_SET);
  }
}

}  // namespace
}  // namespace infeed
