#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <span>
#include <string_view>
#include <vector>

#include "columns/column_plan.h"
#include "columns/column_values.h"
#include "infeed/error.h"
#include "infeed/records/detail/feature_codec.h"

/// Reads values of a feature, or of a step, into columns in the making.
namespace infeed::detail {

/// Texts of a row of an Example; reused, so that no record allocates.
inline std::vector<std::string_view>& spare_texts() {
  thread_local std::vector<std::string_view> texts;
  texts.clear();
  return texts;
}

template <class T>
void read_numbers(const FeatureView& view, std::span<T> out) {
  if constexpr (is_float(dtype_of<T>())) {
    view.read_floats(out);
  } else {
    view.read_integers(out);
  }
}

/// Returns how many numbers of type T a row will have. For uint8 these are the bytes of a single
/// value, unless the feature holds integers.
template <class T>
std::size_t count_numbers(const PlannedColumn& column, const FeatureView& view) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    if (view.kind() != FeatureKind::integers) return view.single_bytes().size();
  }
  constexpr FeatureKind kWanted =
      is_float(dtype_of<T>()) ? FeatureKind::floats : FeatureKind::integers;
  // As with vectors, the wrong kind is an error before anything is counted. But for items with a
  // shape an empty list of any kind makes no items.
  if (view.kind() != kWanted && column.type.shape.rank() == 0) read_numbers(view, std::span<T>());
  return view.count();
}

template <class T>
void read_numbers_or_bytes(const FeatureView& view, std::span<T> out) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    if (view.kind() != FeatureKind::integers) {
      copy_exactly(view, out.data(), out.size());
      return;
    }
  }
  read_numbers(view, out);
}

[[noreturn]] inline void refuse_multiple(const FeatureView& view, std::size_t count,
                                         std::size_t of) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} holds {} values, which is no multiple of the {} of a row",
                          view.subject(), count, of));
}

/// Appends numbers to `values`. Returns how many items they make.
template <class T>
std::size_t append_numbers(const PlannedColumn& column, const FeatureView& view,
                           GrowingBuffer& values, const TensorPool& pool) {
  if (!view.is_present()) return 0;
  const std::size_t count = count_numbers<T>(column, view);
  if (column.item_values != 1 && count % column.item_values != 0) {
    refuse_multiple(view, count, column.item_values);
  }
  if (count == 0) return 0;
  read_numbers_or_bytes(view, values.extend_by<T>(count, pool));
  return count / column.item_values;
}

/// Appends bytes, and their ends to the partition of the offsets. Returns how many values there are.
inline std::size_t append_texts(const FeatureView& view, GrowingColumn& out, std::size_t offsets,
                                const TensorPool& pool) {
  std::vector<std::string_view>& texts = spare_texts();
  view.append_bytes(texts);
  for (const std::string_view text : texts) append_text(text, out, offsets, pool);
  return texts.size();
}

/// Fills up a row of a padded column behind its first `count` numbers.
template <class T>
void pad_row(const PlannedColumn& column, T* row, std::size_t count, std::size_t row_values) {
  T padding;
  std::memcpy(&padding, column.padding.data(), sizeof(T));
  std::fill(row + count, row + row_values, padding);
}

}  // namespace infeed::detail
