#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/detail/text_feed.h>
#include <infeed/records/detail/text_parser.h>

#include "fuzz.h"

namespace infeed::fuzz {

/// Returns hashes of the rows of a text, one by one; if the text can't be read on, the message.
inline std::vector<std::string> rows_of_text(const detail::TextParser& parser,
                                             const std::string& file, std::size_t batch_rows) {
  detail::TextFeedOptions options = parser.feed_options();
  options.block_bytes = 4096;
  options.row_bytes_max = 20'000;
  options.compression = Compression::none;
  detail::TextFeed feed(std::make_shared<const std::vector<std::string>>(1, file), options);
  detail::TextRows text;
  std::vector<std::string> rows;
  while (true) {
    try {
      if (!feed.read(batch_rows, text)) return rows;
    } catch (const Error& error) {
      rows.push_back(error.message());
      continue;
    }
    try {
      std::size_t left_out = 0;
      const ColumnBatch batch = parser.parse(text, &left_out);
      require(static_cast<std::size_t>(batch.rows()) + left_out == text.rows, "no row is lost");
      for (std::int64_t i = 0; i < batch.rows(); ++i) {
        rows.push_back(std::to_string(batch.slice(i, 1).hash()));
      }
    } catch (const Error& error) {
      require(error.message().starts_with("line "), "an error of a row names its line");
    }
  }
}

/// Checks that rows don't depend on how many are read at once, nor on where blocks of the file end.
inline void check_text(const detail::TextParser& parser, std::string_view front,
                       std::string_view text, std::uint8_t batch_rows, std::uint8_t shift) {
  static const MemoryFile memory;
  const std::string file = memory.write(std::string(front) + std::string(text));
  const std::vector<std::string> rows = rows_of_text(parser, file, 1 + batch_rows % 7);
  require(rows == rows_of_text(parser, file, 100'000), "rows don't depend on the batch's size");
  // A byte order mark counts only at the beginning of a file.
  const std::string_view begin = front.empty() ? text : front;
  if (begin.starts_with("\xfe\xff") || begin.starts_with("\xff\xfe") ||
      begin.starts_with("\xef\xbb\xbf")) {
    return;
  }
  // Empty lines are no rows, and shift the text behind them to the end of a block.
  const std::size_t lines = 4096 - std::min<std::size_t>(4096, front.size()) - shift % 128;
  memory.write(std::string(front) + std::string(lines, '\n') + std::string(text));
  const std::vector<std::string> shifted = rows_of_text(parser, file, 100'000);
  require(rows.size() == shifted.size(), "rows don't depend on where blocks end");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_message = rows[i].find_first_not_of("0123456789") != std::string::npos;
    require(is_message || rows[i] == shifted[i], "rows don't depend on where blocks end");
  }
}

}  // namespace infeed::fuzz
