#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/column.h"
#include "infeed/records/column_batch.h"
#include "infeed/records/dtype.h"
#include "infeed/records/tensor.h"

/// Why: makes columns and batches of a program's own values.
///
///     const infeed::ColumnBatch users({
///         {"id", infeed::column_of(std::vector<std::int64_t>{7, 8})},
///         {"name", infeed::column_of(std::vector<std::string>{"Ada", "Grace"})},
///         {"visits", infeed::ragged_column_of(std::vector<std::vector<float>>{{1, 2}, {}})},
///     });
///
///     infeed::RaggedBuilder<std::string> tags;                   // row by row
///     for (const std::vector<std::string>& row : {std::vector<std::string>{"a", "b"}, {}}) {
///       for (const std::string& tag : row) tags.add(tag);
///       tags.end_row();
///     }
///     const infeed::ColumnBatch all = infeed::join_columns(
///         {users, infeed::ColumnBatch({{"tags", tags.finish()}})});
///
/// join_rows() (column_batch.h) puts batches one below the other.
///
/// Errors: invalid_argument. Thread-safety: one thread uses a builder.
namespace infeed {

/// Makes a dense column of shape [size]. The values stay where they are.
template <class T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)  //
    Column column_of(std::vector<T> values) {
  const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  return Column::dense(Tensor::adopt(dtype_of<T>(), {static_cast<std::int64_t>(owner->size())},
                                     owner->data(), owner));
}
/// Makes a dense column of bools.
Column column_of(const std::vector<bool>& values);
/// Makes a column of bytes, of copies.
Column column_of(std::span<const std::string> texts);
inline Column column_of(const std::vector<std::string>& texts) {
  return column_of(std::span<const std::string>(texts));
}

/// Makes a ragged column of numbers, or with T = std::string one of ragged_bytes, item by item.
template <class T>
requires(std::is_same_v<T, std::string> ||
         (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>))  //
    class RaggedBuilder {
 public:
  /// Adds an item to the current row.
  void add(std::conditional_t<std::is_same_v<T, std::string>, std::string_view, T> item) {
    if constexpr (std::is_same_v<T, std::string>) {
      values_.insert(values_.end(), item.begin(), item.end());
      ends_.push_back(static_cast<std::int64_t>(values_.size()));
    } else {
      values_.push_back(item);
    }
  }
  template <class Items>
  void add_row(const Items& items) {
    for (const auto& item : items) add(item);
    end_row();
  }
  /// Ends the current row, which may be empty.
  void end_row() { splits_.push_back(items()); }
  std::int64_t rows() const { return static_cast<std::int64_t>(splits_.size()) - 1; }

  /// Returns the column, and leaves the builder empty. Throws failed_precondition when items of a
  /// row that wasn't ended would be lost.
  Column finish() {
    if (splits_.back() != items()) fail_open_row();
    std::vector<Tensor> splits = {tensor_of(std::exchange(splits_, {0}))};
    if constexpr (std::is_same_v<T, std::string>) {
      Tensor offsets = tensor_of(std::exchange(ends_, {0}));
      return Column::ragged_bytes(std::move(splits), std::move(offsets),
                                  tensor_of(std::exchange(values_, {})));
    } else {
      return Column::ragged(tensor_of(std::exchange(values_, {})), std::move(splits));
    }
  }

 private:
  using Value = std::conditional_t<std::is_same_v<T, std::string>, std::uint8_t, T>;

  template <class Number>
  static Tensor tensor_of(std::vector<Number> numbers) {
    return column_of(std::move(numbers)).values();
  }
  std::int64_t items() const {
    if constexpr (std::is_same_v<T, std::string>) {
      return static_cast<std::int64_t>(ends_.size()) - 1;
    } else {
      return static_cast<std::int64_t>(values_.size());
    }
  }
  [[noreturn]] static void fail_open_row() {
    throw Error(ErrorCode::failed_precondition,
                "a ragged column is finished while a row is open: call end_row() behind its items");
  }

  std::vector<Value> values_;
  std::vector<std::int64_t> ends_ = {0};  ///< where each text ends
  std::vector<std::int64_t> splits_ = {0};
};

/// Makes a ragged column of numbers, or of texts, of vectors.
template <class T>
Column ragged_column_of(const std::vector<std::vector<T>>& rows) {
  RaggedBuilder<T> builder;
  for (const std::vector<T>& row : rows) builder.add_row(row);
  return builder.finish();
}

/// Returns the columns of all batches, side by side; nothing is copied. The batches must have as
/// many rows, and no name twice.
ColumnBatch join_columns(std::span<const ColumnBatch> batches);
inline ColumnBatch join_columns(std::initializer_list<ColumnBatch> batches) {
  return join_columns(std::span<const ColumnBatch>(batches.begin(), batches.size()));
}

}  // namespace infeed
