#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/detail/text_parser.h"

namespace infeed::detail {

/// Reads batches with a feed and a parser, in one thread.
class TextReader {
 public:
  TextReader(std::vector<std::string> files, std::shared_ptr<const TextParser> parser)
      : parser_(std::move(parser)),
        feed_(std::make_shared<const std::vector<std::string>>(std::move(files)),
              parser_->feed_options()) {}

  std::unique_ptr<ColumnBatch> read(std::size_t rows_max) {
    if (rows_max == 0) {
      throw Error(ErrorCode::invalid_argument,
                  "a batch of 0 rows can't be read; ask for 1 or more");
    }
    if (!feed_.read(rows_max, rows_)) return nullptr;
    return std::make_unique<ColumnBatch>(parser_->parse(rows_));
  }

 private:
  const std::shared_ptr<const TextParser> parser_;
  TextFeed feed_;
  TextRows rows_;
};

}  // namespace infeed::detail
