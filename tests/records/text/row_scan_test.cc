#include <gtest/gtest.h>
#include <string>

#include <infeed/records/detail/row_scan.h>

#include "seeded_random.h"

namespace infeed::test {
namespace {

using detail::RowFormat;
using detail::RowScan;

/// Scans byte by byte.
RowScan scan_slowly(const std::string& text, std::size_t rows_max, const RowFormat& format) {
  RowScan found{.end = text.data()};
  std::size_t lines = 0;
  std::size_t row = 0;
  bool in_quotes = false;
  bool is_field_begin = true;
  for (std::size_t i = 0; i < text.size() && found.rows < rows_max; ++i) {
    if (text[i] == '\n') ++lines;
    if (in_quotes) {
      if (text[i] != '"') continue;
      if (i + 1 < text.size() && text[i + 1] == '"') {
        ++i;
      } else {
        in_quotes = false;
        is_field_begin = false;
      }
      continue;
    }
    if (text[i] == '"' && is_field_begin && format.has_quotes) {
      in_quotes = true;
      continue;
    }
    is_field_begin = text[i] == '\n' || text[i] == format.delimiter;
    if (text[i] != '\n') continue;
    const std::string line = text.substr(row, i - row);
    row = i + 1;
    if (!format.keeps_empty_lines && (line.empty() || line == "\r")) continue;
    ++found.rows;
    found.end = text.data() + i + 1;
    found.lines = lines;
  }
  found.in_quotes = in_quotes && found.rows < rows_max;
  return found;
}

TEST(RowScan, FindsWhatAWalkOverAllBytesFinds) {
  SeededRandom random;
  const std::string alphabets[] = {"a,\n",           "a,\n\"",
                                   "\n\r\"",         "aaaaaaaaaaaaaaaaaaaaaaaaaaa,,,\"\n\r",
                                   "\"\"\"\"\"a,\n", "aaaaaaaaaaaaa\n"};
  for (int i = 0; i < 30'000; ++i) {
    const std::string& alphabet = alphabets[random() % std::size(alphabets)];
    std::string text(random() % 300, 'a');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    const RowFormat format{',', random() % 2 == 0, random() % 4 == 0};
    const std::size_t rows_max = 1 + random() % 20;
    const RowScan expected = scan_slowly(text, rows_max, format);
    // Bytes behind the end must not matter.
    const std::string padded = text + std::string(detail::kTextPaddingBytes, "\n\"a"[random() % 3]);
    const RowScan found =
        detail::scan_rows(padded.data(), padded.data() + text.size(), rows_max, format);
    ASSERT_EQ(found.rows, expected.rows) << text;
    ASSERT_EQ(found.end - padded.data(), expected.end - text.data()) << text;
    ASSERT_EQ(found.lines, expected.lines) << text;
    // A quote at the end may be the first of a pair, so it closes nothing yet.
    if (text.ends_with('"')) continue;
    ASSERT_EQ(found.in_quotes, expected.in_quotes) << text;
  }
}

TEST(RowScan, OfNoRowsOrNoBytesIsEmpty) {
  const std::string text = "a\nb\n" + std::string(detail::kTextPaddingBytes, '\n');
  const char* const begin = text.data();
  const auto expect_none = [&](const RowScan& found) {
    EXPECT_EQ(found.rows, 0U);
    EXPECT_EQ(found.end, begin);
    EXPECT_EQ(found.lines, 0U);
    EXPECT_FALSE(found.in_quotes);
  };
  for (const bool has_quotes : {false, true}) {
    const RowFormat format{',', has_quotes, true};
    expect_none(detail::scan_rows(begin, begin + 4, 0, format));
    expect_none(detail::scan_rows(begin, begin, 5, format));
    expect_none(detail::scan_rows(begin, begin + 1, 5, format));
  }
}

}  // namespace
}  // namespace infeed::test
