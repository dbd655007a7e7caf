#include "infeed/records/detail/json_depth.h"

#include <string>

#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(RepeatedJsonNames, AreRefusedWithTheirLine) {
  for (const std::string json : {R"({"a": 1, "a": 2})", R"({"x": [{"a": {}, "b": "}", "a" : 2}]})",
                                 R"({"q\"": 1, "a": {"a": 1}, "a": 3})"}) {
    const Error error = error_of([&] { detail::refuse_lossy_json(json, "the pipeline"); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("the pipeline gives \"a\" twice in one object")) << json;
  }
  const std::string lines = "{\"a\": 1,\n\n\"a\": 1}";
  EXPECT_THAT(error_of([&] { detail::refuse_lossy_json(lines, "it"); }).message(),
              HasSubstr("in line 3"));
}

TEST(RepeatedJsonNames, MayStandInDifferentObjectsAndInTexts) {
  for (const std::string json :
       {R"([{"a": 1}, {"a": 2}])", R"({"a": {"a": {"a": ["a", "a"]}}})", R"({"a": "a", "b": "a"})",
        R"({"a\\": 1, "a": "\"a\": 1, \"a\": 2"})", R"(["a", "a"])", "7", R"("a")", "{}"}) {
    detail::refuse_lossy_json(json, "it");
  }
}

/// The parser makes the nearest double of them: -2^63 - 1 became -2^63.
TEST(JsonNumbers, ThatLoseDigitsAreRefused) {
  for (const std::string number :
       {"-9223372036854775809", "18446744073709551617", "1000000000000000000000000000001"}) {
    const std::string json = "{\"a\": [1,\n" + number + "]}";
    EXPECT_EQ(error_of([&] { detail::refuse_lossy_json(json, "the pipeline"); }).message(),
              "the pipeline has the whole number " + number +
                  " (line 2), whose last digits would be lost: whole numbers go from -2^63 to 2^63 "
                  "- 1 (uint64: to 2^64 - 1); as a float it is written with an exponent, as 1e30");
  }
  for (const std::string json :
       {"[-9223372036854775808, 18446744073709551615]", "18446744073709551616",
        "{\"a\": -100000000000000000000}", "[0.12345678901234567890123, 1e30, -0]",
        "{\"18446744073709551617\": \"-9223372036854775809\"}"}) {
    detail::refuse_lossy_json(json, "it");
  }
}

}  // namespace
}  // namespace infeed::test
