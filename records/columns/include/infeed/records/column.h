#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "infeed/records/tensor.h"

namespace infeed {

/// Why: one column of a batch whose types are known when the program runs, in the layouts that
/// NumPy, Arrow and TensorFlow's RaggedTensor have.
///
/// | kind         | values()                  | beside them                                         |
/// |--------------|---------------------------|-----------------------------------------------------|
/// | dense        | [rows, ...row_shape]      |                                                     |
/// | ragged       | [items, ...row_shape]     | row_splits(0), one level or more, the outermost     |
/// |              |                           | first                                               |
/// | padded       | [rows, width,             | lengths(): [rows], of 0 to width                    |
/// |              | ...row_shape]             |                                                     |
/// | bytes        | uint8 [bytes of all]      | offsets(): [rows + 1]                               |
/// | ragged_bytes | uint8 [bytes of all]      | offsets(): [items + 1]; row_splits(0), ...          |
///
/// Splits and offsets begin with 0, don't fall, and end with the number of what they cut. With one
/// level row i has the items row_splits()[i] up to, not including, row_splits()[i + 1]; with more,
/// it has those of the inner sequences.
///
///     infeed::Column images =
///         infeed::Column::dense(infeed::Tensor::copy_of({2, 2}, {0.1F, 0.2F, 0.3F, 0.4F}));
///     infeed::Column tokens = infeed::Column::ragged(
///         infeed::Tensor::copy_of({3}, {7, 8, 9}),               // [[7, 8], [9]]
///         {infeed::Tensor::copy_of<std::int64_t>({3}, {0, 2, 3})});
///     infeed::Column text = infeed::Column::of_bytes({"one", "two"});
///     std::string_view second = text.bytes(1);
///
/// Ownership: as Tensor: copies and slices share the memory, which doesn't change.
/// Errors: invalid_argument when the parts don't fit each other, or what is asked for belongs to
/// another kind. Thread-safety: any thread may read, copy and drop copies.
class Column {
 public:
  enum class Kind : std::uint8_t { dense, ragged, padded, bytes, ragged_bytes };

  /// Dense, without rows.
  Column() = default;

  static Column dense(Tensor values);
  /// The splits are int64 Tensors [n + 1], the outermost first; there must be one at least.
  static Column ragged(Tensor values, std::vector<Tensor> row_splits);
  static Column padded(Tensor values, Tensor lengths);
  static Column bytes(Tensor offsets, Tensor data);
  static Column ragged_bytes(std::vector<Tensor> row_splits, Tensor offsets, Tensor data);
  /// Of what values() and partitions() of such a column are.
  static Column of_parts(Kind kind, Tensor values, std::vector<Tensor> partitions);
  /// A bytes column of copies.
  static Column of_bytes(std::span<const std::string_view> rows);
  static Column of_bytes(std::initializer_list<std::string_view> rows) {
    return of_bytes(std::span<const std::string_view>(rows.begin(), rows.size()));
  }

  Kind kind() const { return kind_; }
  /// Of the values; DType::bytes where they are bytes.
  DType dtype() const;
  std::int64_t rows() const { return rows_; }
  bool is_ragged() const { return levels() != 0; }
  /// The shape of a row of a dense column, and of one item of a ragged or padded one.
  Shape row_shape() const;

  /// See the table above.
  const Tensor& values() const { return values_; }
  template <class T>
  std::span<const T> values() const {
    return values_.values<T>();
  }
  /// How many levels of row_splits() there are.
  std::size_t levels() const;
  std::span<const std::int64_t> row_splits(std::size_t level = 0) const;
  /// Of a padded column: items of each row without its padding.
  std::span<const std::int64_t> lengths() const;
  /// Of a padded column.
  std::int64_t width() const;
  /// Of a column of bytes: where in values() each begins, and the end.
  std::span<const std::int64_t> offsets() const;
  /// Row i of a bytes column, item i of a ragged_bytes column; valid while the column or a copy of
  /// it lives.
  std::string_view bytes(std::int64_t i) const;

  /// Rows first, ..., first + rows - 1. The values stay where they are; splits and offsets, which
  /// begin with 0, are copied where they have to be.
  Column slice(std::int64_t first, std::int64_t rows) const;

  /// Bytes of what it shows: values, splits, offsets, lengths.
  std::size_t memory_bytes() const;
  /// The same kind, types, shapes, splits and bytes of values (padding included).
  bool operator==(const Column& other) const = default;
  /// As Tensor::hash(): a slice has that of its copy.
  std::uint64_t hash() const;

  /// row_splits by level, then offsets or lengths; for whoever hands them on to another library.
  std::span<const Tensor> partitions() const { return partitions_; }

 private:
  Column(Kind kind, Tensor values, std::vector<Tensor> partitions);
  const Tensor& partition_of(Kind kind, Kind other, const char* noun) const;

  Kind kind_ = Kind::dense;
  std::int64_t rows_ = 0;
  Tensor values_;
  std::vector<Tensor> partitions_;
};

/// "dense", "ragged", "padded", "bytes", "ragged_bytes".
std::string_view to_string(Column::Kind kind);

}  // namespace infeed
