#include <cmath>
#include <fmt/format.h>

#include <infeed/records/detail/json_members.h>
#include <infeed/records/limits.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

using detail::JsonMembers;
using detail::ValueForm;

std::string error_in_line(const std::string& line) {
  const Error error = error_of([&] { JsonMembers().read(line); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  return error.message();
}

TEST(JsonMembersTest, NamesValuesAndForms) {
  JsonMembers parsed;
  const auto members = parsed.read(
      R"({"a": 1, "o": {"b": -0.5e2, "p": {"\u00fc\n": "x\"\\"}}, "n": null, "l": [true, "", 18446744073709551615]} )"
      "\r\n");
  ASSERT_EQ(members.size(), 5U);
  EXPECT_EQ(members[0].name, "a");
  EXPECT_EQ(parsed.values(members[0])[0].value.integer, 1);
  EXPECT_EQ(members[1].name, "o.b");
  EXPECT_EQ(parsed.values(members[1])[0].written, "-0.5e2");
  EXPECT_EQ(parsed.values(members[1])[0].value.number, -50);
  EXPECT_EQ(members[2].name, "o.p.\xc3\xbc\n");
  EXPECT_EQ(parsed.values(members[2])[0].written, "x\"\\");
  EXPECT_TRUE(members[3].is_null);
  EXPECT_EQ(members[3].count, 0U);
  EXPECT_TRUE(members[4].is_list);
  const auto list = parsed.values(members[4]);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].value.form, ValueForm::boolean);
  EXPECT_EQ(list[0].value.integer, 1);
  EXPECT_EQ(list[1].value.form, ValueForm::text);
  EXPECT_EQ(list[2].value.form, ValueForm::wide_integer);
  EXPECT_EQ(list[2].written, "18446744073709551615");
  const auto minus_zero = parsed.read(R"({"z": -0})");
  EXPECT_TRUE(std::signbit(parsed.values(minus_zero[0])[0].value.number));
}

TEST(JsonMembersTest, ListsOfListsHaveAShapeOrAreUneven) {
  JsonMembers parsed;
  const auto member = [&](const std::string& value) {
    return parsed.read(fmt::format(R"({{"m": {}}})", value))[0];
  };
  EXPECT_THAT(member("[1, 2]").shape, IsEmpty());
  EXPECT_FALSE(member("[1, 2]").has_inner_lists());
  EXPECT_THAT(member("[[1, 2], [3, 4], [5, 6]]").shape, ElementsAre(3, 2));
  EXPECT_THAT(member("[[[1]], [[2]]]").shape, ElementsAre(2, 1, 1));
  EXPECT_THAT(member("[[], []]").shape, ElementsAre(2, 0));
  for (const char* const uneven :
       {R"([["a", "b"], ["c"]])", R"([["a"], ["b", "c"]])", "[1, [2, 3]]", "[[1, 2], 3]", "[[], 1]",
        "[1, []]", "[[1], [[2]]]", "[[[1]], [2]]", "[[], [[]]]"}) {
    EXPECT_TRUE(member(uneven).is_uneven) << uneven;
  }
  EXPECT_TRUE(member("[1, null]").has_null_items);
  EXPECT_TRUE(member(R"([{"a": [1]}])").has_objects);
  EXPECT_EQ(member(R"([{"a": [1]}, 7])").count, 1U);
}

TEST(JsonMembersTest, ErrorsSayWhere) {
  EXPECT_THAT(error_in_line("[1]"), HasSubstr("no JSON object: '[1]', from byte 1 on: '[' stands "
                                              "where an object is expected"));
  EXPECT_THAT(error_in_line(R"({"a":NaN})"),
              HasSubstr("from byte 6 on (JSON has no NaN and no Infinity)"));
  EXPECT_THAT(error_in_line(R"({"a":[-Infinity]})"), HasSubstr("JSON has no NaN"));
  for (const char* const wrong :
       {"", "{", R"({"a")", R"({"a":})", R"({"a":1,})", R"({"a":1}})", R"({"a":[1,]})",
        R"({"a":[1 2]})", R"({"a":01})", R"({"a":"\ud800"})", "{\"a\":\"\xff\"}", R"({"a":tru})",
        R"({,"a":1})", R"({"a":[})", "{\"a\":\n1}"}) {
    EXPECT_THAT(error_in_line(wrong), HasSubstr("the line is no JSON object")) << wrong;
  }
}

TEST(JsonMembersTest, ErrorsSayWhatStandsAtWhichByte) {
  for (const auto& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "1 on: the line ends where an object is expected"},
           {R"({"a")", "5 on: the line ends where ':' is expected"},
           {R"({"a":})", "6 on: '}' stands where a value is expected"},
           {R"({"a":01})", "6 on: a number begins with a zero that means nothing"},
           {R"({"a":tru})", "6 on: 't' stands where a value is expected"},
           {R"({"a":nul})", "6 on: 'n' stands where a value is expected"},
           {R"({"a":1,})", "8 on: '}' stands where a member's name is expected"},
           {R"({"a":1}})", "8 on: '}' stands where the line's end is expected"},
           {R"({"a":1 2})", "8 on: '2' stands where ',' or '}' is expected"},
           {R"({,"a":1})", "2 on: ',' stands where a member's name is expected"},
           {R"({"a":[})", "7 on: '}' stands where a value is expected"},
           {R"({"a":[1,]})", "9 on: ']' stands where a value is expected"},
           {R"({"a":[1 2]})", "9 on: '2' stands where ',' or ']' is expected"},
           {R"({"a":[[1}]})", "9 on: '}' stands where ',' or ']' is expected"},
           {R"({"a":{"b"}})", "10 on: '}' stands where ':' is expected"},
           {R"({"a":NaN})", "6 on (JSON has no NaN and no Infinity)"},
           {R"({"a":-Infinity})", "6 on (JSON has no NaN and no Infinity)"},
           {R"({"a":Inf})", "6 on: 'I' stands where a value is expected"}}) {
    EXPECT_EQ(error_in_line(line), "the line is no JSON object: '" + line + "', from byte " + what);
  }
}

std::string nested_objects(std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += R"({"a": )";
  return text + "1" + std::string(depth, '}');
}

TEST(JsonMembersTest, ObjectsMayLieAHundredDeepAndNoMore) {
  JsonMembers parsed;
  const auto members = parsed.read(nested_objects(100));
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(members[0].name.size(), 199U);
  EXPECT_THAT(error_in_line(nested_objects(101)),
              HasSubstr("objects and arrays lie more than 100 deep in each other"));
}

/// Each level repeats the names of those around it: 20,000 took 439 MB.
TEST(JsonMembersTest, WhatIsDeeperEndsAtOnce) {
  EXPECT_THAT(error_in_line(nested_objects(20'000)), HasSubstr("more than 100 deep"));
  const std::string lists =
      R"({"a": )" + std::string(400'000, '[') + std::string(400'000, ']') + "}";
  EXPECT_THAT(error_in_line(lists), HasSubstr("more than 100 deep"));
}

TEST(JsonMembersTest, ALineHasSoManyValues) {
  std::string line = R"({"a": [0)";
  for (std::size_t i = 0; i < limits::json_line_values; ++i) line += ",0";
  EXPECT_THAT(error_in_line(line + "]}"),
              HasSubstr(": it has more than 4194304 values, which is the limit"));
}

/// 200,000 keys ended as out of memory.
TEST(JsonMembersTest, ALineHasSoManyColumns) {
  std::string line = R"({"0": 0)";
  for (int i = 1; i < 65'536; ++i) line += fmt::format(R"(,"{}":0)", i);
  EXPECT_EQ(JsonMembers().read(line + "}").size(), 65'536U);
  const Error more = error_of([&] { JsonMembers().read(line + R"(,"more":null})"); });
  EXPECT_EQ(more.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(more.message(), HasSubstr("there are 65537 columns with "));
  std::string nested = "{\"" + std::string(1 << 20, 'x') + "\":" + line + "}}";
  EXPECT_THAT(error_of([&] { JsonMembers().read(nested); }).message(),
              HasSubstr("there are 16 columns with 16777254 bytes of names"));
}

}  // namespace
}  // namespace infeed::test
