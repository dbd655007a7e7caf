#include "infeed/records/detail/text_feed.h"

#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

class TextFeedTest : public ::testing::Test {
 protected:
  /// Makes a feed of files with these contents, named 0, 1...
  std::unique_ptr<TextFeed> feed(const std::vector<std::string>& contents,
                                 TextFeedOptions options = {}) const {
    std::vector<std::string> files;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      files.push_back(folder_.write(std::to_string(i), contents[i]));
    }
    return feed_of(files, std::move(options));
  }
  static std::unique_ptr<TextFeed> feed_of(std::vector<std::string> files,
                                           TextFeedOptions options = {}) {
    return std::make_unique<TextFeed>(
        std::make_shared<const std::vector<std::string>>(std::move(files)), std::move(options));
  }
  /// Shows what a read gives: "rows from row NUMBER, line LINE, offset OFFSET: TEXT".
  static std::vector<std::string> pieces(TextFeed& feed, std::size_t rows_max = 100) {
    TextRows rows;
    const bool has_some = feed.read(rows_max, rows);
    EXPECT_EQ(has_some, rows.rows != 0);
    std::vector<std::string> shown;
    std::size_t total = 0;
    for (const TextPiece& piece : rows.pieces) {
      shown.push_back(fmt::format("{} from row {}, line {}, offset {}: {}", piece.rows,
                                  *piece.text.number(), piece.line, *piece.text.offset(),
                                  piece.text.bytes()));
      total += piece.rows;
    }
    EXPECT_EQ(total, rows.rows);
    return shown;
  }
  std::string name(int file) const { return folder_.file(std::to_string(file)); }

  const TemporaryFolder folder_;
};

TEST_F(TextFeedTest, CutsAtRowsAndKnowsTheirPlaces) {
  const auto text = feed({"a\nbb\n\n\r\nccc\r\n\nd"});
  EXPECT_THAT(pieces(*text, 2), ElementsAre("2 from row 0, line 1, offset 0: a\nbb\n"));
  EXPECT_THAT(pieces(*text, 1), ElementsAre("1 from row 2, line 5, offset 8: ccc\r\n"));
  EXPECT_THAT(pieces(*text), ElementsAre("1 from row 3, line 7, offset 14: d\n"));
  EXPECT_THAT(pieces(*text), IsEmpty());
  EXPECT_THAT(pieces(*text), IsEmpty());
  const auto lines = feed({"\na\n\nb"}, {.keeps_empty_lines = true});
  EXPECT_THAT(pieces(*lines), ElementsAre("4 from row 0, line 1, offset 0: \na\n\nb\n"));
  EXPECT_THAT(pieces(*feed({"", "\n\n", "\r\n"})), IsEmpty());
}

TEST_F(TextFeedTest, GoesFromFileToFile) {
  const auto text = feed({"a\nb\n", "", "c\nd\n", "e\n"});
  EXPECT_THAT(pieces(*text, 3), ElementsAre("2 from row 0, line 1, offset 0: a\nb\n",
                                            "1 from row 0, line 1, offset 0: c\n"));
  EXPECT_EQ(text->skip(1), 1U);
  EXPECT_THAT(pieces(*text), ElementsAre("1 from row 0, line 1, offset 0: e\n"));
  EXPECT_EQ(text->skip(5), 0U);
  const auto left = feed({"a\nb\nc\n", "d\n"});
  EXPECT_EQ(left->skip(2), 2U);
  left->leave_file();
  EXPECT_THAT(pieces(*left), ElementsAre("1 from row 0, line 1, offset 0: d\n"));
  TextRows rows;
  feed({"ab\n", "c\n"})->read(10, rows);
  EXPECT_EQ(rows.bytes(), rows.pieces.capacity() * sizeof(TextPiece) + 5);
}

/// Blocks are no longer than a page, so rows cross their ends.
TEST_F(TextFeedTest, ReadsBlocksOfAnySize) {
  std::string bytes;
  std::size_t rows = 0;
  for (; bytes.size() < 60'000; ++rows) {
    bytes += std::string(rows * 37 % 900, 'x') + (rows % 7 == 0 ? "\n\n" : "y\n");
  }
  for (const std::size_t block_bytes : {1, 4096, 5000, 100'000}) {
    const auto text = feed({bytes}, {.keeps_empty_lines = true, .block_bytes = block_bytes});
    std::string all;
    std::uint64_t number = 0;
    for (TextRows read; text->read(50, read);) {
      for (const TextPiece& piece : read.pieces) {
        EXPECT_EQ(piece.text.offset(), all.size());
        EXPECT_EQ(piece.text.number(), number);
        EXPECT_EQ(piece.line, number + 1);
        EXPECT_EQ(piece.text.file(), name(0));
        all += piece.text.bytes();
        number += piece.rows;
      }
    }
    EXPECT_TRUE(all == bytes) << block_bytes;
    EXPECT_EQ(number, std::count(bytes.begin(), bytes.end(), '\n'));
  }
}

TEST_F(TextFeedTest, AnErrorComesBehindTheRowsBeforeAndCostsItsFile) {
  const auto files = [&] {
    return std::vector{folder_.write("a", "1\n2\n"), folder_.file("none"),
                       folder_.write("b", "3\n")};
  };
  const auto text = feed_of(files());
  EXPECT_THAT(pieces(*text), ElementsAre("2 from row 0, line 1, offset 0: 1\n2\n"));
  const Error error = error_of([&] { pieces(*text); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(error.file(), folder_.file("none"));
  EXPECT_THAT(pieces(*text), ElementsAre("1 from row 0, line 1, offset 0: 3\n"));
  const auto left = feed_of(files());
  EXPECT_EQ(left->skip(10), 2U);
  left->leave_file();  // with its error
  EXPECT_THAT(pieces(*left), ElementsAre("1 from row 0, line 1, offset 0: 3\n"));
}

TEST_F(TextFeedTest, ARowThatIsTooLongCostsTheRest) {
  const auto text = feed({"12345\r\n\n12345\n123456\n1\n", "6\n"}, {.row_bytes_max = 5});
  EXPECT_THAT(pieces(*text), ElementsAre("2 from row 0, line 1, offset 0: 12345\r\n\n12345\n"));
  const Error error = error_of([&] { pieces(*text); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.message(),
            "the row that begins in line 4 is longer than 5 bytes; row_bytes_max is the limit");
  EXPECT_EQ(error.file(), name(0));
  EXPECT_EQ(error.offset(), 14U);
  EXPECT_EQ(error.record(), 2U);
  EXPECT_THAT(pieces(*text), ElementsAre("1 from row 0, line 1, offset 0: 6\n"));
  const auto lines = feed({"12\n123\n"}, {.keeps_empty_lines = true, .row_bytes_max = 2});
  EXPECT_EQ(pieces(*lines).size(), 1U);
  EXPECT_EQ(error_of([&] { pieces(*lines); }).message(),
            "line 2 is longer than 2 bytes; line_bytes_max is the limit");
  // One that never ends isn't read to its end.
  for (const std::size_t bytes : {5000, 5001}) {
    const auto longer = feed({std::string(bytes, 'x')}, {.row_bytes_max = 5000, .block_bytes = 1});
    if (bytes == 5000) {
      EXPECT_EQ(pieces(*longer).size(), 1U);
    } else {
      EXPECT_EQ(error_of([&] { pieces(*longer); }).message(),
                "the row that begins in line 1 is longer than 5000 bytes; row_bytes_max is the "
                "limit");
    }
  }
  EXPECT_EQ(error_of([&] {
              pieces(*feed({"123456\n"}, {.has_quotes = true, .row_bytes_max = 5}));
            }).message(),
            "the row that begins in line 1 is longer than 5 bytes: perhaps a quote in it is not "
            "closed; row_bytes_max is the limit");
}

TEST_F(TextFeedTest, AQuoteThatIsNotClosedCostsTheRest) {
  const auto text = feed({"x\n\na,\"b\nc\n", "y\n"}, {.has_quotes = true});
  EXPECT_THAT(pieces(*text), ElementsAre("1 from row 0, line 1, offset 0: x\n"));
  const Error error = error_of([&] { pieces(*text); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.message(),
            "a quote that opens a field in the row of line 3 is not closed before the file ends; "
            "close it, or, if quotes mean nothing in this file, read it with {.quotes = "
            "infeed::Quotes::none}");
  EXPECT_EQ(error.file(), name(0));
  EXPECT_EQ(error.offset(), 3U);
  EXPECT_EQ(error.record(), 1U);
  EXPECT_THAT(pieces(*text), ElementsAre("1 from row 0, line 1, offset 0: y\n"));
  EXPECT_THAT(pieces(*feed({"a,\"b\nc\"\n\"d\n"})),
              ElementsAre("3 from row 0, line 1, offset 0: a,\"b\nc\"\n\"d\n"))
      << "without quotes a row is a line";
}

TEST_F(TextFeedTest, TakesTheHeader) {
  std::vector<std::string> headers;
  TextFeedOptions options{.read_header = [&](std::string_view header) {
    headers.emplace_back(header);
    if (header.starts_with("bad")) throw Error(ErrorCode::invalid_argument, "no such column");
    return std::make_shared<const TextLayout>();
  }};
  const auto text = feed({"\na,b\n1,2\n", "bad\n3\n", "c\r\n\n4", "", "\n\n"}, options);
  EXPECT_THAT(pieces(*text), ElementsAre("1 from row 0, line 3, offset 5: 1,2\n"));
  const Error bad = error_of([&] { pieces(*text); });
  EXPECT_EQ(bad.message(), "no such column");
  EXPECT_EQ(bad.file(), name(1));
  TextRows rows;
  ASSERT_TRUE(text->read(1, rows));
  EXPECT_NE(rows.pieces.at(0).layout, nullptr);
  EXPECT_EQ(rows.pieces.at(0).line, 3U);
  EXPECT_EQ(rows.pieces.at(0).text.bytes(), "4\n");
  EXPECT_THAT(headers, ElementsAre("a,b\n", "bad\n", "c\r\n"));
  for (const int file : {3, 4}) {
    const Error empty = error_of([&] { pieces(*text); });
    EXPECT_EQ(empty.message(), "the file is empty; not even a header is there");
    EXPECT_EQ(empty.file(), name(file));
  }
  EXPECT_THAT(pieces(*text), IsEmpty());
}

/// Blocks of a page end in the header, and behind the first byte of a row or of the file.
TEST_F(TextFeedTest, BlocksEndAnywhere) {
  std::vector<std::string> headers;
  TextFeedOptions with_header{.has_quotes = true, .block_bytes = 1};
  with_header.read_header = [&](std::string_view header) {
    headers.emplace_back(header);
    return nullptr;
  };
  const std::string long_header = std::string(10'000, 'h') + "\n";
  EXPECT_THAT(pieces(*feed({long_header + "1\n"}, with_header)),
              ElementsAre("1 from row 0, line 2, offset 10001: 1\n"));
  EXPECT_THAT(headers, ElementsAre(long_header));
  const Error open = error_of([&] { pieces(*feed({"a,\"b\n1\n"}, with_header)); });
  EXPECT_THAT(open.message(), HasSubstr("a quote that opens a field in the row of line "
                                        "1 is not closed before the file ends"));
  EXPECT_EQ(open.offset(), 0U);
  const auto rows_of = [&](const std::string& bytes) {
    const auto text = feed({bytes}, {.block_bytes = 1});
    std::string all;
    for (TextRows read; text->read(1, read);) all += read.pieces.at(0).text.bytes();
    return all;
  };
  for (const std::string& front : {std::string(), std::string(4094, 'x') + "\n",
                                   std::string(4095, 'x') + "\n", std::string(4096, 'x') + "\n"}) {
    for (const char* const rest : {"y", "yes\n", "\r\ny"}) {
      const std::string row = std::string(rest).starts_with('\r') ? "y" : rest;
      EXPECT_EQ(rows_of(front + rest), front + row + (row.ends_with('\n') ? "" : "\n"))
          << front.size() << rest;
    }
  }
}

TEST_F(TextFeedTest, AHeadersErrorMayNameAnotherFile) {
  const auto text =
      feed({"a\n1\n"}, {.read_header = [](std::string_view) -> std::shared_ptr<const TextLayout> {
             throw Error(ErrorCode::invalid_argument, "no").at_file("schema.json");
           }});
  EXPECT_EQ(error_of([&] { pieces(*text); }).file(), "schema.json");
}

TEST_F(TextFeedTest, LooksAtTheFirstBytes) {
  EXPECT_THAT(pieces(*feed({"\xef\xbb\xbf"
                            "a\n"})),
              ElementsAre("1 from row 0, line 1, offset 3: a\n"));
  for (const std::string mark : {"\xff\xfe", "\xfe\xff"}) {
    const Error error = error_of([&] { pieces(*feed({mark + "a"})); });
    EXPECT_EQ(error.message(),
              "this is UTF-16 text, but UTF-8 is read: 'iconv -f UTF-16 -t UTF-8' converts it");
    EXPECT_EQ(error.file(), name(0));
  }
  EXPECT_THAT(pieces(*feed({"sep=,\r\na\n"}, {.is_table = true})),
              ElementsAre("1 from row 0, line 2, offset 7: a\n"));
  EXPECT_THAT(pieces(*feed({"sep=,\na\n"})),
              ElementsAre("2 from row 0, line 1, offset 0: sep=,\na\n"));
  const Error other = error_of([&] { pieces(*feed({"sep=;\na\n"}, {.is_table = true})); });
  EXPECT_EQ(other.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(other.message(),
            "the first line says that the fields are delimited by ';', but ',' is given: "
            "{.delimiter = ';'} reads the file");
}

}  // namespace
}  // namespace infeed::detail
