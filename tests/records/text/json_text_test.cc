#include "text/json_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace infeed::detail {
namespace {

/// A line as the cursor needs it; whatever stands behind it must not matter.
class JsonLine {
 public:
  explicit JsonLine(const std::string& text)
      : text_(text + "\n" + std::string(64, '"')), cursor_(text_.data()) {}

  JsonCursor& cursor() { return cursor_; }
  /// Shows where a cursor stands, or its problem: "PLACE: WHAT".
  std::string outcome(bool is_good) const {
    if (is_good) return std::to_string(cursor_.at() - text_.data());
    const JsonProblem& problem = cursor_.problem();
    return fmt::format("{}: {}", problem.at - text_.data(), problem.what);
  }

 private:
  std::string text_;
  JsonCursor cursor_;
};

std::string read_string_of(const std::string& written) {
  JsonLine line(written);
  JsonString found;
  if (!line.cursor().read_string(found)) return line.outcome(false);
  EXPECT_EQ(line.outcome(true), std::to_string(written.size()));
  return unescaped_json(found);
}

TEST(JsonText, StringsAreUnescaped) {
  for (const auto& [written, text] : std::vector<std::pair<std::string, std::string>>{
           {R"()", ""},
           {"a \x7f~", "a \x7f~"},
           {R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
           {R"(\u0041\u0020\u007f)", "A \x7f"},
           {R"(\u0080\u07ff)", "\xc2\x80\xdf\xbf"},
           {R"(\u0800\ud7ff\ue000\uffff)", "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"},
           {R"(\ud800\udc00\udbff\udfff)", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
           {R"(\u00aF\u00Fa\u0009)", "\xc2\xaf\xc3\xba\t"},
           {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"}}) {
    // Strings are looked at in blocks, whose borders must not matter.
    for (std::size_t before = 0; before < 70; ++before) {
      const std::string front(before, 'x');
      ASSERT_EQ(read_string_of("\"" + front + written + "\""), front + text) << written;
    }
  }
}

TEST(JsonText, StringsThatAreNoneSayWhere) {
  const std::string control =
      "a control character stands in a string; it is to be written as an escape";
  for (const auto& [written, problem] : std::vector<std::pair<std::string, std::string>>{
           {R"("abc)", "0: a string is not closed before the line ends"},
           {R"(")", "0: a string is not closed before the line ends"},
           {"\"a\x01\"", "2: " + control},
           {"\"ab\x1f\"", "3: " + control},
           {R"("a\q")", R"(2: '\q' is no escape)"},
           {"\"a\\", R"(2: '\\x0a' is no escape)"},
           {std::string("\"a\\\0\"", 5), R"(2: '\\x00' is no escape)"},
           {R"("\u12g4")", R"(1: '\u12g4' is no escape)"},
           {R"("\u12/4")", R"(1: '\u12/4' is no escape)"},
           {R"("\u12:4")", R"(1: '\u12:4' is no escape)"},
           {R"("\u12`4")", R"(1: '\u12`4' is no escape)"},
           {R"("\u12@4")", R"(1: '\u12@4' is no escape)"},
           {R"("\u12G4")", R"(1: '\u12G4' is no escape)"},
           {R"("\u123")", R"(1: '\u123"' is no escape)"},
           {R"("\ud800")", R"(1: '\ud800' is half of a surrogate pair)"},
           {R"("\udbff\u0041")", R"(1: '\udbff' is half of a surrogate pair)"},
           {R"("\ud800\ud800")", R"(1: '\ud800' is half of a surrogate pair)"},
           {R"("\ud800\ue000")", R"(1: '\ud800' is half of a surrogate pair)"},
           {R"("\ud800\n")", R"(1: '\ud800' is half of a surrogate pair)"},
           {R"("\udc00")", R"(1: '\udc00' is half of a surrogate pair)"},
           {R"("\udfff")", R"(1: '\udfff' is half of a surrogate pair)"},
           {"\"a\xff\"", "0: a string is not valid UTF-8"},
           {"\"" + std::string(40, 'x') + "\xc3\"", "0: a string is not valid UTF-8"}}) {
    EXPECT_EQ(read_string_of(written), problem);
  }
}

TEST(JsonText, NumbersEndWhereTheyMust) {
  const auto read = [](const std::string& text) {
    JsonLine line(text);
    JsonNumber number;
    const bool is_good = line.cursor().read_number(number);
    return line.outcome(is_good) + (is_good && number.is_integer ? " whole" : "");
  };
  for (const auto& [text, outcome] : std::vector<std::pair<std::string, std::string>>{
           {"0", "1 whole"},
           {"-0", "2 whole"},
           {"1234567890", "10 whole"},
           {"10x", "2 whole"},
           {"1/", "1 whole"},
           {"1:", "1 whole"},
           {"0.0", "3"},
           {"1.5", "3"},
           {"1.5.5", "3"},
           {"-1.25e+10", "9"},
           {"1E5", "3"},
           {"0e-0", "4"},
           {"-", "0: '-' stands where a value is expected"},
           {"x", "0: 'x' stands where a value is expected"},
           {"+1", "0: '+' stands where a value is expected"},
           {"", "0: the line ends where a value is expected"},
           {"00", "0: a number begins with a zero that means nothing"},
           {"-01", "0: a number begins with a zero that means nothing"},
           {"1.", "0: a number has no digit behind its point"},
           {"1.e5", "0: a number has no digit behind its point"},
           {"1e", "0: a number has no digit in its exponent"},
           {"1e+", "0: a number has no digit in its exponent"},
           {"1.5e-x", "0: a number has no digit in its exponent"}}) {
    EXPECT_EQ(read(text), outcome) << text;
  }
}

TEST(JsonText, ValuesArePassedOver) {
  const auto skip = [](const std::string& text, int depth = 0) {
    JsonLine line(text);
    return line.outcome(line.cursor().skip_value(depth));
  };
  for (const std::string text :
       {R"("a]")", "true", "false", "null", "-1.5e3", "{}", "[]", "[ ]", "{ }", "[1,[2],{}]",
        R"({"a":{"b":[1 , 2]},"c" : null})", R"([{"a":"}"}])", "[\t1\r]"}) {
    EXPECT_EQ(skip(text + "x"), std::to_string(text.size())) << text;
    EXPECT_EQ(skip(" \t\r" + text), std::to_string(3 + text.size())) << text;
  }
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {"", "0: the line ends where a value is expected"},
           {"tru", "0: 't' stands where a value is expected"},
           {"[nul]", "1: 'n' stands where a value is expected"},
           {"[", "1: the line ends where a value is expected"},
           {"[1,]", "3: ']' stands where a value is expected"},
           {"[1 2]", "3: '2' stands where ',' or ']' is expected"},
           {"[1}", "2: '}' stands where ',' or ']' is expected"},
           {"{1:2}", "1: '1' stands where a member's name is expected"},
           {R"({"a":1,})", "7: '}' stands where a member's name is expected"},
           {R"({"a"1})", "4: '1' stands where ':' is expected"},
           {R"({"a":1 2})", "7: '2' stands where ',' or '}' is expected"},
           {R"({"a":1])", "6: ']' stands where ',' or '}' is expected"},
           {R"(["\q"])", R"(2: '\q' is no escape)"}}) {
    EXPECT_EQ(skip(text), problem) << text;
  }
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_EQ(skip(deep), "200");
  const std::string too_deep =
      ": objects and arrays lie more than 100 deep in each other, or have millions of values";
  EXPECT_EQ(skip(deep, 1), "99" + too_deep);
  EXPECT_EQ(skip("[" + deep + "]"), "100" + too_deep);
  EXPECT_EQ(skip("{}", 99), "2");
  EXPECT_EQ(skip("{}", 100), "0" + too_deep);
}

TEST(JsonText, Utf8IsThatOfItsStandard) {
  for (const std::string text :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    for (std::size_t around = 0; around < 20; ++around) {
      EXPECT_TRUE(is_utf8(std::string(around, 'x') + text + std::string(around / 2, 'y')));
    }
  }
  for (const std::string text : {"\x80",
                                 "\xbf",
                                 "\xc0\x80",
                                 "\xc1\xbf",
                                 "\xc2",
                                 "\xc2\x7f",
                                 "\xc2\xc0",
                                 "\xdf",
                                 "\xe0\xa0",
                                 "\xe0\x9f\xbf",
                                 "\xe0\xa0\x7f",
                                 "\xed\xa0\x80",
                                 "\xed\xbf\xbf",
                                 "\xef\xbf",
                                 "\xef\xc0\xbf",
                                 "\xef\xbf\xc0",
                                 "\xf0\x90\x80",
                                 "\xf0\x8f\xbf\xbf",
                                 "\xf0\x90\x80\xc0",
                                 "\xf0\xc0\x80\x80",
                                 "\xf0\x90\x7f\x80",
                                 "\xf4\x90\x80\x80",
                                 "\xf5\x80\x80\x80",
                                 "\xff"}) {
    for (std::size_t around = 0; around < 20; ++around) {
      EXPECT_FALSE(is_utf8(std::string(around, 'x') + text + std::string(around / 2, 'y')));
    }
  }
}

}  // namespace
}  // namespace infeed::detail
