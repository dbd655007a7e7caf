#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <infeed/records/detail/csv_row.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

using detail::CsvRow;
using detail::guess_header;
using detail::HeaderGuess;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> cells_of(const std::string& row, detail::RowFormat format = {',', true}) {
  std::vector<std::string> cells;
  CsvRow cut(format);
  for (const auto& field : cut.split(row)) cells.emplace_back(field.text);
  return cells;
}

TEST(CsvRowTest, CutsAsTheParserDoes) {
  EXPECT_THAT(cells_of("a,b\r\n"), ElementsAre("a", "b"));
  EXPECT_THAT(cells_of(""), ElementsAre(""));
  EXPECT_THAT(cells_of(",\n"), ElementsAre("", ""));
  EXPECT_THAT(cells_of(R"("a,""b""",c"d,"")"), ElementsAre("a,\"b\"", "c\"d", ""));
  EXPECT_THAT(cells_of("\"two\r\nlines\",\"\"\"\"\n"), ElementsAre("two\r\nlines", "\""));
  EXPECT_THAT(cells_of("\"a\";b,c", {';', false}), ElementsAre("\"a\"", "b,c"));
  const std::string longer(100, 'x');
  EXPECT_THAT(cells_of(longer + ",\"" + longer + "\"\"" + longer + "\""),
              ElementsAre(longer, longer + "\"" + longer));
  CsvRow cut({',', true});
  EXPECT_TRUE(cut.split("\"1\",2")[0].was_quoted);
  EXPECT_FALSE(cut.split("\"1\",2")[1].was_quoted);
}

TEST(CsvRowTest, RefusesWhatTheParserRefuses) {
  const auto refused = [](const std::string& row) {
    return error_of([&] { cells_of(row); }).message();
  };
  EXPECT_THAT(refused("a,\"b"), HasSubstr("is not closed"));
  EXPECT_THAT(refused("\"a\"b,c"), HasSubstr("behind the closing quote stands 'b'"));
  EXPECT_THAT(refused("a\rb,c"), HasSubstr("a carriage return stands without a line feed"));
  EXPECT_THAT(refused("\"a\"\rb"), HasSubstr("a carriage return stands without a line feed"));
  EXPECT_THAT(refused("a\r\r\n"), HasSubstr("a carriage return stands without a line feed"));
  EXPECT_THAT(cells_of(std::string(1'048'575, ',')), SizeIs(1'048'576));
  EXPECT_EQ(
      refused(std::string(1'048'576, ',')),
      "a row has more than 1048576 fields, which is the limit; is the delimiter another one?");
}

TEST(CsvRowTest, SpreadsheetsNameTheDelimiterInTheFirstLine) {
  const auto line = detail::find_separator_line("sep=;\r\na;b\r\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->delimiter, ';');
  EXPECT_EQ(line->bytes, 7U);
  EXPECT_EQ(detail::find_separator_line("SEP=\t\n")->delimiter, '\t');
  for (const char* const none : {"sep=;", "sep=\n\n", "sep=;;\n", "sep;\nab", "set=;\n", ""}) {
    EXPECT_FALSE(detail::find_separator_line(none)) << none;
  }
}

TEST(CsvRowTest, AHeaderOfNumbersOverNumbersIsARow) {
  EXPECT_EQ(guess_header({"5.1", "3.5", "Iris-setosa"}, {true, true, false}), HeaderGuess::row);
  EXPECT_EQ(guess_header({"5"}, {true}), HeaderGuess::row);
  EXPECT_EQ(guess_header({"7", "3"}, {true, true}), HeaderGuess::row);
  EXPECT_EQ(guess_header({"country", "1990", "1991"}, {false, true, true}),
            HeaderGuess::rising_numbers);
  EXPECT_EQ(guess_header({"x", "2"}, {true, true}), HeaderGuess::names);
  EXPECT_EQ(guess_header({"1", "2"}, {false, false}), HeaderGuess::names);
}

}  // namespace
}  // namespace infeed::test
