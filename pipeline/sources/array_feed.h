#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/column_batch.h>
#include <infeed/records/npy.h>

namespace infeed::detail {

/// A file of the source. Arrays side by side make a part of the source's rows.
struct ArrayFile {
  std::string column;  ///< empty: an NPZ file, whose arrays have names
  std::string file;
};

using ArrayLayouts = std::vector<std::pair<std::string, NpyLayout>>;
using Arrays = std::vector<NpyArray>;

/// The files of a source, in parts whose rows follow each other.
///
/// Thread-safety: any number of threads at once.
class ArrayFiles {
 public:
  ArrayFiles(std::vector<std::vector<ArrayFile>> parts, NpyOptions options);

  std::size_t parts() const { return parts_.size(); }
  const NpyOptions& options() const { return options_; }
  /// Returns the files' names, without those of columns.
  std::vector<std::string> names() const;

  /// Opens a part. Throws if it can't be opened, or has other columns than the first part.
  std::shared_ptr<const Arrays> open(std::size_t part, const UrlOptions& url) const;
  /// Returns the number of rows of a part, from headers alone; nothing unless it is a plain local
  /// file. Throws as open() does for headers.
  std::optional<std::int64_t> count(std::size_t part) const;
  /// Returns the rows of all parts; nothing if one of them is unknown or can't be read.
  std::optional<std::uint64_t> count_all() const;

 private:
  ArrayLayouts headers(std::size_t part, const UrlOptions& url) const;
  void require_columns_of_first(std::size_t part, const ArrayLayouts& layouts,
                                const UrlOptions& url) const;

  void put_in_order_of_first(Arrays& arrays) const;

  const std::vector<std::vector<ArrayFile>> parts_;
  const NpyOptions options_;
  mutable std::mutex mutex_;
  mutable std::optional<ArrayLayouts> first_;  ///< headers of the first part, once it was asked for
};

/// Neighbouring rows of a part.
struct ArrayRows {
  std::shared_ptr<const Arrays> arrays;
  std::int64_t first = 0;
  std::int64_t rows = 0;
};
ColumnBatch read_array_rows(const std::vector<ArrayRows>& pieces, ArrayMemory memory);

/// Reads the rows of all parts.
///
/// Errors: an exception of read() or skip() costs the rest of the part, and comes after all rows
/// before it. The next call goes on with the next part. Thread-safety: one thread at a time.
class ArrayFeed {
 public:
  ArrayFeed(std::shared_ptr<const ArrayFiles> files, UrlOptions url)
      : files_(std::move(files)), url_(std::move(url)) {}

  /// Reads the next `rows_max` rows; fewer only at the end and before an error. Returns how many; 0
  /// at the end.
  std::uint64_t read(std::uint64_t rows_max, std::vector<ArrayRows>& out);
  /// Passes over rows. For whole parts it reads only the headers if `headers_suffice`.
  std::uint64_t skip(std::uint64_t rows, bool headers_suffice);

 private:
  template <class Take>
  std::uint64_t pass(std::uint64_t rows_max, bool headers_suffice, Take take);

  const std::shared_ptr<const ArrayFiles> files_;
  const UrlOptions url_;
  std::size_t next_ = 0;
  std::shared_ptr<const Arrays> arrays_;  ///< null between parts
  std::int64_t row_ = 0;
  std::exception_ptr failure_;  ///< thrown after the rows before it
};

}  // namespace infeed::detail
