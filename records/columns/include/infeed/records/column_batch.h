#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/column.h"

/// Why: a batch whose columns are known only when the program runs. Python gets such batches, files
/// of other programs become such batches, and statistics by column look at them. Where the types
/// are known when the program is compiled, Batch<T> (pipeline/batch.h) says more and checks more.
///
///     const infeed::ColumnBatch batch({
///         {"image", infeed::Column::dense(infeed::Tensor(infeed::DType::float32, {2, 784}))},
///         {"meta.author", infeed::Column::of_bytes({"Ada", "Grace"})},
///     });
///     std::span<const float> pixels = batch.column("image").values<float>();
///     for (const std::string& column_name : batch.names()) std::puts(column_name.c_str());
///     infeed::ColumnBatch first_row = batch.slice(0, 1);
///     infeed::ColumnBatch inputs = batch.select({"image"}).renamed("image", "x");
///
/// Columns keep their order, have the same number of rows, and have different names. A name may be
/// any bytes; dots mean nothing here (sources use them for members of objects).
///
/// Ownership: copies share everything, and none of it changes. A copy is one atomic increment.
/// Errors: invalid_argument. Thread-safety: any thread may read, copy and drop copies.
namespace infeed {

struct NamedColumn {
  std::string name;
  Column column;
};

class ColumnBatch;
namespace detail {
class ColumnNames;
struct RowsOfBatch;
RowsOfBatch rows_of_batch(const ColumnBatch& batch);
/// Returns the held_bytes() of a copy in memory of its own, of no pool.
std::size_t held_bytes_of_copy(const ColumnBatch& batch);
}  // namespace detail

class ColumnBatch {
 public:
  /// Makes a batch without columns and rows. A batch that was moved from is one, too.
  ColumnBatch() = default;
  explicit ColumnBatch(std::vector<NamedColumn> columns);
  /// For code that makes many batches with the same names. There must be as many names as columns.
  ColumnBatch(std::shared_ptr<const detail::ColumnNames> names, std::vector<Column> columns);

  std::int64_t rows() const;
  std::span<const Column> columns() const;
  const std::vector<std::string>& names() const;
  /// Returns the column of that name. Throws a message that lists the names of the batch, the
  /// nearest first.
  const Column& column(std::string_view name) const;
  /// Returns the column of that name, or null.
  const Column* find(std::string_view name) const;

  /// Returns `rows` rows from row `first` on of every column; see Column::slice. The columns are cut
  /// when they are asked for, so slices that are only moved and joined cost little. A slice keeps the
  /// memory of the whole batch, of which its held_bytes() counts its own rows' part: to keep few rows
  /// for long, copy them by join_rows(std::array{slice, slice.slice(0, 0)}).
  ColumnBatch slice(std::int64_t first, std::int64_t rows) const;
  // The same columns in other batches; nothing is copied.
  /// Puts the column behind the others, or in the place of the one that has its name.
  ColumnBatch with_column(std::string name, Column column) const;
  /// Puts other columns, of any number of rows, in the places of all.
  ColumnBatch with_columns(std::vector<Column> columns) const;
  /// Returns the columns of these names, in this order.
  ColumnBatch select(std::span<const std::string> names) const;
  ColumnBatch select(std::initializer_list<std::string> names) const {
    return select(std::span<const std::string>(names.begin(), names.size()));
  }
  /// Gives the column `from` the name `to`, which no other column may have.
  ColumnBatch renamed(std::string_view from, std::string to) const;

  /// Bytes of all columns (Column::memory_bytes).
  std::size_t bytes() const;
  /// Bytes of memory that the batch keeps, with its list of columns and what the allocator adds. In
  /// a batch of one row this is many times bytes(). A slice counts as if its columns hadn't been cut.
  std::size_t held_bytes() const;
  /// True if a copy of this batch lives, say in a cache. (A Tensor knows whether others share it.)
  bool is_shared() const { return content_.use_count() > 1; }

  /// True for the same names in the same order, and equal columns (see Column::operator==).
  bool operator==(const ColumnBatch& other) const;
  /// Hash of names and columns, in order; see Tensor::hash.
  std::uint64_t hash() const;

 private:
  friend detail::RowsOfBatch detail::rows_of_batch(const ColumnBatch& batch);
  friend std::size_t detail::held_bytes_of_copy(const ColumnBatch& batch);
  struct Content;
  ColumnBatch(std::shared_ptr<const detail::ColumnNames> names, std::vector<Column> columns,
              std::size_t names_bytes);

  std::shared_ptr<const Content> content_;  ///< null without columns
};

/// Copies all rows of the batches, in order, into one batch. Their columns must be alike: names (in
/// any order), kinds, types and shapes, and width where they are padded. A single batch is returned
/// as it is.
ColumnBatch join_rows(std::span<const ColumnBatch> batches);
/// Does the same in memory of a pool.
ColumnBatch join_rows(std::span<const ColumnBatch> batches, const TensorPool& pool);

namespace detail {

/// Makes names to be shared by all batches that have them. Throws invalid_argument for a name that
/// comes twice.
std::shared_ptr<const ColumnNames> column_names(std::vector<std::string> names);

}  // namespace detail

}  // namespace infeed
