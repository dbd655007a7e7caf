#include <gtest/gtest.h>

#include "records/example/read_alike.h"
#include "seeded_random.h"

/// Random bytes that are almost Examples, read by libprotobuf and by us.
namespace infeed {
namespace {

using test::WildExamples;

TEST(ExampleDifferential, agrees_with_protobuf_on_wild_examples) {
  const auto draw = [](WildExamples& wild) { return wild.draw(); };
  EXPECT_EQ(test::valid_read_alike(20'000, draw, &test::compare_with_protobuf), 20'000);
}

TEST(ExampleDifferential, agrees_with_protobuf_on_mutated_examples) {
  const auto draw = [](WildExamples& wild) { return wild.mutated(wild.draw()); };
  EXPECT_GT(test::valid_read_alike(60'000, draw, &test::compare_with_protobuf), 1000);
}

TEST(ExampleDifferential, protobuf_reads_what_we_build) {
  test::SeededRandom random;
  for (int round = 0; round < 500; ++round) {
    ExampleBuilder builder;
    std::vector<std::int64_t> integers;
    std::vector<float> floats;
    std::vector<std::string> strings;
    for (std::size_t n = random() % 50; n > 0; --n) {
      integers.push_back(static_cast<std::int64_t>(random() >> random() % 64));
      floats.push_back(static_cast<float>(random()));
      strings.push_back(test::random_bytes(random, random() % 200));
    }
    builder.bytes("strings", std::span<const std::string>(strings))
        .integers("integers", std::span<const std::int64_t>(integers))
        .floats("floats", std::span<const float>(floats));
    reference::Example message;
    ASSERT_TRUE(message.ParseFromString(builder.encode()));
    const auto& features = message.features().feature();
    ASSERT_EQ(features.size(), 3U);
    const auto& i = features.at("integers").int64_list().value();
    const auto& f = features.at("floats").float_list().value();
    const auto& s = features.at("strings").bytes_list().value();
    ASSERT_TRUE(std::equal(i.begin(), i.end(), integers.begin(), integers.end()));
    ASSERT_TRUE(std::equal(f.begin(), f.end(), floats.begin(), floats.end()));
    ASSERT_TRUE(std::equal(s.begin(), s.end(), strings.begin(), strings.end()));
  }
}

}  // namespace
}  // namespace infeed
