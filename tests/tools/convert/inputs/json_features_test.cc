#include "convert/inputs/json_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert/conversion_plan.h"
#include "convert/manifest.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using ::testing::HasSubstr;
using tools::parse_json_features;

std::string nested_objects(std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += R"({"a": )";
  return text + "1" + std::string(depth, '}');
}

TEST(JsonFeatures, ObjectsMayLieAHundredDeepAndNoMore) {
  const auto features = parse_json_features(nested_objects(100));
  ASSERT_EQ(features.size(), 1U);
  EXPECT_EQ(features[0].name.size(), 199U);
  EXPECT_THAT(error_of([] { parse_json_features(nested_objects(101)); }).message(),
              HasSubstr("objects and arrays lie more than 100 deep in each other"));
}

/// Each level repeats the names of those around it: 20,000 took 439 MB.
TEST(JsonFeatures, WhatIsDeeperEndsAtOnce) {
  EXPECT_THAT(error_of([] { parse_json_features(nested_objects(20'000)); }).message(),
              HasSubstr("more than 100 deep"));
  const std::string lists =
      R"({"a": )" + std::string(400'000, '[') + std::string(400'000, ']') + "}";
  EXPECT_THAT(error_of([&] { parse_json_features(lists); }).message(),
              HasSubstr("more than 100 deep"));
}

TEST(JsonFeatures, JournalsAndPlansThatAreTooDeepSayNothing) {
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  EXPECT_FALSE(tools::parse_shard_entry(R"({"shard": )" + deep + "}"));
  EXPECT_EQ(tools::describe_difference(deep, "{}"), "its plan can't be read");
}

}  // namespace
}  // namespace infeed::test
