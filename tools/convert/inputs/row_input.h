#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <infeed/convert/example_input.h>

#include "convert/inputs/text_rows.h"

/// What inputs of one row an example have in common: several files, one numbering.
namespace infeed::tools {

class RowFiles {
 public:
  /// `skipped`: rows at the begin of each file that are no examples.
  RowFiles(const std::vector<std::string>& files, Quotes quotes, char separator,
           std::uint64_t skipped);

  std::uint64_t size() const { return begins_.back(); }
  std::size_t file_count() const { return rows_.size(); }
  const TextRows& file(std::size_t index) const { return rows_[index]; }
  const std::vector<InputFile>& files() const { return files_; }

  struct Place {
    std::size_t file;
    std::uint64_t row;  ///< in its file, with those skipped
  };
  Place place_of(std::uint64_t index) const;
  /// "table.csv#17": rows that are examples count from 0.
  std::string name_of(std::uint64_t index) const;
  /// "table.csv line 19 (row 18)": lines and rows that are examples count from 1. For messages: it
  /// reads the file.
  std::string location_of(std::uint64_t index) const;
  /// A few thousand examples, from the front and spread: enough to infer kinds from.
  std::vector<std::uint64_t> sample() const;

 private:
  const std::uint64_t skipped_;
  std::vector<InputFile> files_;
  std::deque<TextRows> rows_;
  std::vector<std::uint64_t> begins_;  // of each file's examples; one more: the end
};

/// One thread's place in them.
class RowFilesReader {
 public:
  explicit RowFilesReader(const RowFiles& rows);
  /// Valid until the next call.
  std::string_view read(std::uint64_t index);

 private:
  const RowFiles& rows_;
  std::vector<TextRowReader> readers_;
};

}  // namespace infeed::tools
