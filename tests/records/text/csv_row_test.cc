#include <infeed/records/detail/csv_row.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

using detail::CsvRow;
using detail::guess_header;
using detail::HeaderGuess;

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

TEST(CsvRowTest, CountsTheFieldsOfAnyRow) {
  const auto count = [](const std::string& row, char delimiter = ',', bool has_quotes = true) {
    const std::string padded = row + std::string(64, '\0');
    return detail::count_fields(padded.data(), padded.data() + row.size(), {delimiter, has_quotes});
  };
  EXPECT_EQ(count("\n"), 1U);
  EXPECT_EQ(count("a\n"), 1U);
  EXPECT_EQ(count("a,b\n"), 2U);
  EXPECT_EQ(count("a,b\r\n"), 2U);
  EXPECT_EQ(count(",,\n"), 3U);
  EXPECT_EQ(count("a,b\nc,d,e\n"), 2U);
  EXPECT_EQ(count("\"a,b\",c\n"), 2U);
  EXPECT_EQ(count("\"a,b\",c\n", ',', false), 3U);
  EXPECT_EQ(count("\"a\nb\",c,d\n"), 3U);
  EXPECT_EQ(count("\"a\"b,c\n"), 2U) << "with what stands behind a closing quote";
  EXPECT_EQ(count("a\rb,c\n"), 2U) << "with a lone carriage return";
  EXPECT_EQ(count("a,\"b,c\n"), 2U) << "with a quote that isn't closed";
  EXPECT_EQ(count("a;b,c\n", ';'), 2U);
}

TEST(CsvRowTest, DelimitersAreNeitherQuotesNorPartsOfNumbers) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_refused =
        is_letter || is_digit || std::string_view("\n\r\0\".+-", 7).find(c) != std::string::npos;
    const auto check = [c] { detail::check_csv_options({.delimiter = c}); };
    if (!is_refused) {
      EXPECT_NO_THROW(check()) << byte;
      continue;
    }
    const Error error = error_of(check);
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(),
                HasSubstr("; give a byte that is no line break, no quote and nothing "
                          "that numbers are written with"));
  }
}

TEST(CsvRowTest, NamesOfColumnsAreLimited) {
  const std::string long_name(std::size_t{1} << 20, 'x');
  std::vector<detail::CsvField> header(16, {long_name, false});
  EXPECT_EQ(detail::column_names(header).size(), 16U);
  header.push_back({"y", false});
  EXPECT_EQ(
      error_of([&] { detail::column_names(header); }).message(),
      "there are 17 columns with 16777217 bytes of names, where 65536 and 16777216 are the limits; "
      "put what the names tell apart into lists of values");
}

TEST(CsvRowTest, SpreadsheetsNameTheDelimiterInTheFirstLine) {
  const auto line = detail::find_separator_line("sep=;\r\na;b\r\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->delimiter, ';');
  EXPECT_EQ(line->bytes, 7U);
  EXPECT_EQ(detail::find_separator_line("SEP=\t\n")->delimiter, '\t');
  for (const char* const none : {"sep=;", "sep=\n\n", "sep=;;\n", "sep;\nab", "set=;\n", "",
                                 "sep=\r\n", "sep=\r\r\n", "sep\x1d;\n"}) {
    EXPECT_FALSE(detail::find_separator_line(none)) << none;
  }
}

TEST(CsvRowTest, AHeaderOfNumbersOverNumbersIsARow) {
  EXPECT_EQ(guess_header({"5.1", "3.5", "Iris-setosa"}, {true, true, false}), HeaderGuess::row);
  EXPECT_EQ(guess_header({"5"}, {true}), HeaderGuess::row);
  EXPECT_EQ(guess_header({"7", "3"}, {true, true}), HeaderGuess::row);
  EXPECT_EQ(guess_header({"country", "1990", "1991"}, {false, true, true}),
            HeaderGuess::rising_numbers);
  EXPECT_EQ(guess_header({"0", "1"}, {true, true}), HeaderGuess::rising_numbers);
  EXPECT_EQ(guess_header({"-1", "0"}, {true, true}), HeaderGuess::row) << "no year, and no number";
  EXPECT_EQ(guess_header({"1990", "1990"}, {true, true}), HeaderGuess::row);
  EXPECT_EQ(guess_header({"0.5", "1"}, {true, true}), HeaderGuess::row);
  EXPECT_EQ(guess_header({"x", "2"}, {true, true}), HeaderGuess::names);
  EXPECT_EQ(guess_header({"1", "2"}, {false, false}), HeaderGuess::names);
}

}  // namespace
}  // namespace infeed::test
