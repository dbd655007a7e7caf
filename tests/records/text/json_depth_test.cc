#include "infeed/records/detail/json_depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "thrown_error.h"

namespace infeed::test {
namespace {

using ::testing::HasSubstr;

TEST(RepeatedJsonNames, AreRefusedWithTheirLine) {
  for (const std::string json : {R"({"a": 1, "a": 2})", R"({"x": [{"a": {}, "b": "}", "a" : 2}]})",
                                 R"({"q\"": 1, "a": {"a": 1}, "a": 3})"}) {
    const Error error = error_of([&] { detail::refuse_repeated_json_names(json, "the pipeline"); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("the pipeline gives \"a\" twice in one object")) << json;
  }
  const std::string lines = "{\"a\": 1,\n\n\"a\": 1}";
  EXPECT_THAT(error_of([&] { detail::refuse_repeated_json_names(lines, "it"); }).message(),
              HasSubstr("in line 3"));
}

TEST(RepeatedJsonNames, MayStandInDifferentObjectsAndInTexts) {
  for (const std::string json :
       {R"([{"a": 1}, {"a": 2}])", R"({"a": {"a": {"a": ["a", "a"]}}})", R"({"a": "a", "b": "a"})",
        R"({"a\\": 1, "a": "\"a\": 1, \"a\": 2"})", R"(["a", "a"])", "7", R"("a")", "{}"}) {
    detail::refuse_repeated_json_names(json, "it");
  }
}

}  // namespace
}  // namespace infeed::test
