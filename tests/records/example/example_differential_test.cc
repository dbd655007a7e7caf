#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "records/example/example_reference.h"
#include "records/example/wild_examples.h"
#include "records/temporary_files.h"

/// Random bytes that are almost Examples, read by libprotobuf and by us.
namespace infeed {
namespace {

using test::WildExamples;

TEST(ExampleDifferential, agrees_with_protobuf_on_wild_examples) {
  const auto seed = test::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  WildExamples wild(seed);
  for (int i = 0; i < 20'000; ++i) {
    const auto compared = test::compare_with_protobuf(wild.draw());
    ASSERT_TRUE(compared.is_valid);
    ASSERT_EQ(compared.difference, "");
  }
}

TEST(ExampleDifferential, agrees_with_protobuf_on_mutated_examples) {
  const auto seed = test::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  WildExamples wild(seed);
  int valid = 0;
  for (int i = 0; i < 60'000; ++i) {
    const auto compared = test::compare_with_protobuf(wild.mutated(wild.draw()));
    ASSERT_EQ(compared.difference, "");
    valid += compared.is_valid ? 1 : 0;
  }
  EXPECT_GT(valid, 1000);
}

TEST(ExampleDifferential, protobuf_reads_what_we_build) {
  const auto seed = test::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
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
