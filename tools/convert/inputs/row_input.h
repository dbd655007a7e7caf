#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <infeed/convert/example_input.h>

#include "convert/inputs/text_rows.h"

/// The common part of inputs with one example a row: several files, one numbering.
namespace infeed::tools {

class RowFiles {
 public:
  /// `skipped`: rows at the beginning of each file that are no examples.
  RowFiles(const std::vector<std::string>& files, TextFormat format, std::uint64_t skipped);

  std::uint64_t size() const { return begins_.back(); }
  std::size_t file_count() const { return rows_.size(); }
  const TextRows& file(std::size_t index) const { return rows_[index]; }
  const std::vector<InputFile>& files() const { return files_; }

  struct Place {
    std::size_t file;
    std::uint64_t row;  ///< number in its file, counting skipped rows
  };
  Place place_of(std::uint64_t index) const;
  /// Returns "table.csv#17": rows that are examples count from 0.
  std::string name_of(std::uint64_t index) const;
  /// Returns "table.csv line 19 (row 18)": lines and rows that are examples count from 1. For
  /// messages, since it reads the file.
  std::string location_of(std::uint64_t index) const;
  /// Returns a few thousand examples, from the front and spread: enough to infer kinds from.
  std::vector<std::uint64_t> sample() const;

 private:
  const std::uint64_t skipped_;
  std::vector<InputFile> files_;
  std::deque<TextRows> rows_;
  std::vector<std::uint64_t> begins_;  // first example of each file; at last their number
};

/// One thread's place in the rows.
class RowFilesReader {
 public:
  explicit RowFilesReader(const RowFiles& rows) : rows_(rows) {}
  /// Returns a row, valid until the next call.
  std::string_view read(std::uint64_t index);

 private:
  const RowFiles& rows_;
  /// The reader of the file that was read last: one for each of a million files takes gigabytes.
  std::optional<TextRowReader> reader_;
};

}  // namespace infeed::tools
