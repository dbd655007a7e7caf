#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "infeed/records/detail/aligned_array.h"
#include "infeed/records/detail/feature_codec.h"
#include "infeed/records/detail/longest_row.h"
#include "infeed/records/detail/sum_so_far.h"
#include "infeed/records/detail/usual_form.h"
#include "infeed/records/sequence_example.h"

/// Why: a training step takes rows of sequences as the values of all rows one behind the other.
/// They are decoded where they will stay, without a std::vector a row.
///
/// | member M of a row              | RowColumn<M> holds                                         |
/// |--------------------------------|------------------------------------------------------------|
/// | std::vector<std::vector<V>>    | values; where each inner sequence begins (inner_splits);   |
/// |                                | which of them are a row's (row_splits)                     |
/// | std::vector<U>                 | values; where each row begins (row_splits)                 |
/// | anything else                  | a value a row                                              |
///
/// Splits have one entry more than there are rows and begin with 0, as in TensorFlow's
/// RaggedTensor. ExampleSchema::append_row and SequenceExampleSchema::append_row fill the columns;
/// see there for errors.
namespace infeed {

namespace detail {

template <class U>
inline constexpr bool kIsArrayOfNumbers = false;
template <class T, std::size_t N>
inline constexpr bool kIsArrayOfNumbers<std::array<T, N>> = N != 0 &&
                                                            (kIsInteger<T> || kIsFloat<T>);

/// Appends all values of a feature to `out`, without a copy between where the type allows it.
template <class U>
void append_values(const FeatureView& view, AlignedArray<U>& out) {
  if constexpr (kIsByte<U>) {
    const std::string_view bytes = view.single_bytes();
    const std::span<U> place = out.extend(bytes.size());
    if (!bytes.empty()) std::memcpy(place.data(), bytes.data(), bytes.size());
  } else if constexpr (kIsInteger<U>) {
    if (view.is_present()) view.read_integers(out.extend(view.count()));
  } else if constexpr (kIsFloat<U>) {
    if (view.is_present()) view.read_floats(out.extend(view.count()));
  } else if constexpr (kIsArrayOfNumbers<U>) {
    read_rows(view, out.extend(count_rows(view, std::tuple_size_v<U>)));
  } else {
    std::vector<U> values;
    FeatureCodec<std::vector<U>>::decode(view, values);
    out.append(values);
  }
}

/// Appends the values of a list in the usual form. Returns false if it isn't in that form; `out` is
/// then unchanged.
template <class U>
bool append_usual_values(FeatureKind kind, std::string_view list, LateCopy* late,
                         AlignedArray<U>& out) {
  if constexpr (kIsByte<U>) {
    std::string_view value;
    if (kind != FeatureKind::bytes || !read_usual_bytes(list, value)) return false;
    const std::span<U> place = out.extend(value.size());
    if (!value.empty()) copy_or_leave(late, place.data(), value.data(), value.size());
    return true;
  } else if constexpr (kIsUsualInteger<U>) {
    return kind == FeatureKind::integers && append_usual_integers(list, out);
  } else if constexpr (std::is_same_v<U, float>) {
    std::size_t size = 0;
    const char* const run = kind == FeatureKind::floats ? usual_whole(list, 0x0a, size) : nullptr;
    if (run == nullptr || size == 0 || size % sizeof(float) != 0) return false;
    const std::span<U> place = out.extend(size / sizeof(float));
    copy_or_leave(late, place.data(), run, size);
    return true;
  } else {
    return false;
  }
}

/// Throws if a step holds no values and its element can't be missing.
template <class U>
void require_step(const FeatureView& step) {
  if (!step.is_present() && !FeatureCodec<U>::kMayBeMissing) fail_empty_step(step);
}

inline AlignedArray<std::int64_t> first_split(const BatchMemory& memory = nullptr) {
  AlignedArray<std::int64_t> splits(0, memory);
  splits.push_back(0);
  return splits;
}

template <class U>
void end_row(const AlignedArray<U>& values, AlignedArray<std::int64_t>& splits) {
  splits.push_back(static_cast<std::int64_t>(values.size()));
}

}  // namespace detail

template <class M>
struct RowColumn {
  detail::AlignedArray<M> values;
  mutable detail::SumSoFar owned = {};  ///< bytes that the values own elsewhere

  std::size_t size() const { return values.size(); }
  void append(M value) { values.push_back(std::move(value)); }
  void append_feature(const FeatureView& view) {
    M value{};
    FeatureCodec<M>::decode(view, value);
    append(std::move(value));
  }
  /// Appends a list in the usual form. Returns false if it isn't in that form.
  bool append_usual(FeatureKind kind, std::string_view list, const detail::ListSource& source) {
    if constexpr (std::is_trivially_default_constructible_v<M>) {
      if (detail::UsualForm<M>::read(kind, list, source, values.extend(1)[0])) return true;
      values.truncate(values.size() - 1);
      return false;
    } else {
      M value{};
      // The value moves, so no copy of its bytes can be left for later.
      if (!detail::UsualForm<M>::read(kind, list, {source.record}, value)) return false;
      append(std::move(value));
      return true;
    }
  }
  /// Forgets the rows behind the first `rows`, also an unfinished one.
  void truncate(std::size_t rows) {
    values.truncate(rows);
    owned.truncate(rows);
  }
  /// Makes room for `rows` rows with this many values in all.
  void reserve(std::size_t rows, std::size_t) { values.reserve(rows); }
  /// Lets an empty column lie in `memory`, unless it is null.
  void use(const BatchMemory& memory) {
    if (memory != nullptr) values = detail::AlignedArray<M>(0, memory);
  }
};

template <class U>
struct RowColumn<std::vector<U>> {
  detail::AlignedArray<U> values;
  detail::AlignedArray<std::int64_t> row_splits = detail::first_split();
  mutable detail::LongestRow longest = {};  ///< row, as far as longest_row() has looked
  mutable detail::SumSoFar owned = {};      ///< bytes that the values own elsewhere

  std::size_t size() const { return row_splits.size() - 1; }
  /// Returns the number of values of the longest row. For one thread at a time, as append() is.
  std::size_t longest_row() const {
    return static_cast<std::size_t>(longest.length(row_splits.values()));
  }
  void append(std::vector<U> row) {
    values.append(row);
    detail::end_row(values, row_splits);
  }
  void append_feature(const FeatureView& view) {
    detail::append_values(view, values);
    detail::end_row(values, row_splits);
  }
  bool append_usual(FeatureKind kind, std::string_view list, const detail::ListSource& source) {
    if (!detail::append_usual_values(kind, list, source.late, values)) return false;
    detail::end_row(values, row_splits);
    return true;
  }
  /// Appends a row with one value a step.
  void append_list(const FeatureListView& list) {
    FeatureSteps steps(list);
    for (FeatureView step; steps.next(step);) {
      detail::require_step<U>(step);
      FeatureCodec<U>::decode(step, values.extend(1)[0]);
    }
    detail::end_row(values, row_splits);
  }
  void truncate(std::size_t rows) {
    row_splits.truncate(rows + 1);
    values.truncate(static_cast<std::size_t>(row_splits.values()[rows]));
    longest.truncate(rows);
    owned.truncate(values.size());
  }
  void reserve(std::size_t rows, std::size_t value_count) {
    row_splits.reserve(rows + 1);
    values.reserve(value_count);
  }
  void use(const BatchMemory& memory) {
    if (memory == nullptr) return;
    values = detail::AlignedArray<U>(0, memory);
    row_splits = detail::first_split(memory);
  }
};

template <class V>
struct RowColumn<std::vector<std::vector<V>>> {
  detail::AlignedArray<V> values;
  detail::AlignedArray<std::int64_t> inner_splits = detail::first_split();
  detail::AlignedArray<std::int64_t> row_splits = detail::first_split();
  mutable detail::SumSoFar owned = {};  ///< bytes that the values own elsewhere

  std::size_t size() const { return row_splits.size() - 1; }
  void append(std::vector<std::vector<V>> row) {
    for (std::vector<V>& inner : row) {
      values.append(inner);
      detail::end_row(values, inner_splits);
    }
    row_splits.push_back(static_cast<std::int64_t>(inner_splits.size() - 1));
  }
  void append_feature(const FeatureView& view) {
    std::vector<std::vector<V>> row;
    FeatureCodec<std::vector<std::vector<V>>>::decode(view, row);
    append(std::move(row));
  }
  bool append_usual(FeatureKind, std::string_view, const detail::ListSource&) { return false; }
  /// Appends a row with one inner sequence a step.
  void append_list(const FeatureListView& list) {
    FeatureSteps steps(list);
    for (FeatureView step; steps.next(step);) {
      detail::require_step<std::vector<V>>(step);
      detail::append_values(step, values);
      detail::end_row(values, inner_splits);
    }
    row_splits.push_back(static_cast<std::int64_t>(inner_splits.size() - 1));
  }
  void truncate(std::size_t rows) {
    row_splits.truncate(rows + 1);
    inner_splits.truncate(static_cast<std::size_t>(row_splits.values()[rows]) + 1);
    values.truncate(static_cast<std::size_t>(inner_splits.values().back()));
    owned.truncate(values.size());
  }
  void reserve(std::size_t rows, std::size_t value_count) {
    row_splits.reserve(rows + 1);
    inner_splits.reserve(rows + 1);
    values.reserve(value_count);
  }
  void use(const BatchMemory& memory) {
    if (memory == nullptr) return;
    values = detail::AlignedArray<V>(0, memory);
    inner_splits = detail::first_split(memory);
    row_splits = detail::first_split(memory);
  }
};

}  // namespace infeed
