#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "infeed/records/tensor.h"

namespace infeed {

/// Why: a column of a batch whose types are known only when the program runs, in the layouts of
/// NumPy, Arrow and TensorFlow's RaggedTensor.
///
/// | kind         | values()              | beside them                                     |
/// |--------------|-----------------------|-------------------------------------------------|
/// | dense        | [rows, ...row_shape]  |                                                 |
/// | ragged       | [items, ...row_shape] | row_splits(0), one level or more, the outermost |
/// |              |                       | first                                           |
/// | padded       | [rows, width,         | lengths(): [rows], of 0 to width                |
/// |              | ...row_shape]         |                                                 |
/// | bytes        | uint8 [bytes of all]  | offsets(): [rows + 1]                           |
/// | ragged_bytes | uint8 [bytes of all]  | offsets(): [items + 1]; row_splits(0), ...      |
///
/// Splits and offsets begin with 0, don't fall, and end with the number of items that they cut.
/// With one level, the items of row i begin at row_splits()[i] and end before row_splits()[i + 1].
/// With more levels, its inner sequences do.
///
///     infeed::Column images =
///         infeed::Column::dense(infeed::Tensor::copy_of({2, 2}, {0.1F, 0.2F, 0.3F, 0.4F}));
///     infeed::Column tokens = infeed::Column::ragged(
///         infeed::Tensor::copy_of({3}, {7, 8, 9}),               // [[7, 8], [9]]
///         {infeed::Tensor::copy_of<std::int64_t>({3}, {0, 2, 3})});
///     infeed::Column text = infeed::Column::of_bytes({"one", "two"});
///     std::string_view second = text.bytes(1);
///
/// Ownership: as for Tensor, copies and slices share the memory, which doesn't change. Errors:
/// invalid_argument when the parts don't fit each other, or a function belongs to another kind of
/// column. Thread-safety: any thread may read, copy and drop copies.
class Column {
 public:
  enum class Kind : std::uint8_t { dense, ragged, padded, bytes, ragged_bytes };

  /// Makes a dense column without rows.
  Column() = default;

  static Column dense(Tensor values);
  /// The splits are int64 Tensors [n + 1], the outermost first; there must be at least one.
  static Column ragged(Tensor values, std::vector<Tensor> row_splits);
  static Column padded(Tensor values, Tensor lengths);
  static Column bytes(Tensor offsets, Tensor data);
  static Column ragged_bytes(std::vector<Tensor> row_splits, Tensor offsets, Tensor data);
  /// Makes a column from another column's values() and partitions().
  static Column of_parts(Kind kind, Tensor values, std::vector<Tensor> partitions);
  /// Makes a bytes column of copies.
  static Column of_bytes(std::span<const std::string_view> rows);
  static Column of_bytes(std::initializer_list<std::string_view> rows) {
    return of_bytes(std::span<const std::string_view>(rows.begin(), rows.size()));
  }

  Kind kind() const { return kind_; }
  /// Type of the values; DType::bytes where they are bytes.
  DType dtype() const;
  std::int64_t rows() const { return rows_; }
  bool is_ragged() const { return levels() != 0; }
  /// Shape of a row of a dense column, or of an item of a ragged or padded one.
  Shape row_shape() const;

  /// See the table above.
  const Tensor& values() const { return values_; }
  template <class T>
  std::span<const T> values() const {
    return values_.values<T>();
  }
  /// Number of levels of row_splits().
  std::size_t levels() const;
  std::span<const std::int64_t> row_splits(std::size_t level = 0) const;
  /// Items of each row of a padded column, without padding.
  std::span<const std::int64_t> lengths() const;
  /// Width of a padded column.
  std::int64_t width() const;
  /// Offsets of a column of bytes: where each value begins in values(), and the end.
  std::span<const std::int64_t> offsets() const;
  /// Returns row i of a bytes column, or item i of a ragged_bytes column. Valid while the column or
  /// a copy of it lives.
  std::string_view bytes(std::int64_t i) const;

  /// Returns `rows` rows from row `first` on. The values stay where they are. Splits and offsets
  /// begin with 0, so they are copied where they must be.
  Column slice(std::int64_t first, std::int64_t rows) const;

  /// Bytes of values, splits, offsets and lengths.
  std::size_t memory_bytes() const;
  /// Compares kind, types, shapes, splits and the bytes of values (padding included).
  bool operator==(const Column& other) const = default;
  /// Hash as for Tensor::hash(): a slice has the hash of its copy.
  std::uint64_t hash() const;

  /// row_splits by level, then offsets or lengths, for handing on to another library.
  std::span<const Tensor> partitions() const { return partitions_; }

 private:
  Column(Kind kind, Tensor values, std::vector<Tensor> partitions);
  const Tensor& partition_of(Kind kind, Kind other, const char* noun) const;

  Kind kind_ = Kind::dense;
  std::int64_t rows_ = 0;
  Tensor values_;
  std::vector<Tensor> partitions_;
};

/// Returns "dense", "ragged", "padded", "bytes" or "ragged_bytes".
std::string_view to_string(Column::Kind kind);

}  // namespace infeed
