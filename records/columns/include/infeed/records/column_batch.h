#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/column.h"

/// Why: a batch whose columns are known when the program runs only: what Python gets, what a file
/// of another program becomes, and what statistics by column look at. Where the types are known
/// when it is compiled, Batch<T> (pipeline/batch.h) says more and checks more.
///
///     const infeed::ColumnBatch batch({
///         {"image", infeed::Column::dense(infeed::Tensor(infeed::DType::float32, {2, 784}))},
///         {"meta.author", infeed::Column::of_bytes({"Ada", "Grace"})},
///     });
///     std::span<const float> pixels = batch.column("image").values<float>();
///     for (const std::string& column_name : batch.names()) std::puts(column_name.c_str());
///     infeed::ColumnBatch first_row = batch.slice(0, 1);
///
/// The columns keep their order, all have the same number of rows, and no two the same name. A name
/// may be any bytes; dots mean nothing here (sources use them for what lies in objects).
///
/// Ownership: copies share everything, and nothing of it changes. A copy is one atomic increment.
/// Errors: invalid_argument. Thread-safety: any thread may read, copy and drop copies.
namespace infeed {

struct NamedColumn {
  std::string name;
  Column column;
};

namespace detail {
class ColumnNames;
}  // namespace detail

class ColumnBatch {
 public:
  /// No columns, no rows. So is one that was moved from.
  ColumnBatch() = default;
  explicit ColumnBatch(std::vector<NamedColumn> columns);
  /// For who makes many batches with the same names, of which there must be as many as columns.
  ColumnBatch(std::shared_ptr<const detail::ColumnNames> names, std::vector<Column> columns);

  std::int64_t rows() const;
  std::span<const Column> columns() const;
  const std::vector<std::string>& names() const;
  /// The message for a name that isn't there lists those that are, the nearest first.
  const Column& column(std::string_view name) const;
  /// Null when there is none of that name.
  const Column* find(std::string_view name) const;

  /// Rows first, ..., first + rows - 1 of every column; see Column::slice.
  ColumnBatch slice(std::int64_t first, std::int64_t rows) const;
  /// Bytes of what its columns show.
  std::size_t bytes() const;

  /// The same names in the same order, and equal columns (see Column::operator==).
  bool operator==(const ColumnBatch& other) const;
  /// Of names and columns, in order; see Tensor::hash.
  std::uint64_t hash() const;

 private:
  struct Content;

  std::shared_ptr<const Content> content_;  ///< null without columns
};

/// All rows of the batches, in order, copied; their columns must be alike: names (in any order),
/// kinds, types and shapes, padded ones of the same width. One batch alone is given as it is.
ColumnBatch join_rows(std::span<const ColumnBatch> batches);

namespace detail {

/// The names of a batch, to be shared by all that have the same. invalid_argument for one that
/// comes twice.
std::shared_ptr<const ColumnNames> column_names(std::vector<std::string> names);

}  // namespace detail

}  // namespace infeed
