#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/column_number.h>
#include <infeed/pipeline/leaves.h>
#include <infeed/pipeline/payload.h>
#include <infeed/pipeline/type_info.h>
#include <infeed/records/detail/aligned_array.h>
#include <infeed/records/detail/row_column.h>

/// The columns of batches whose rows have sequences.
namespace infeed::detail {

/// Returns the bytes that the values own elsewhere, such as texts.
template <class U>
std::size_t owned_bytes(std::span<const U> values) {
  if constexpr (kHasPayload<U>) return payload_bytes_run<U>(values.data(), values.size());
  return 0;
}

template <class U>
std::size_t bytes_of_array(const AlignedArray<U>& array) {
  return array.held_bytes() + owned_bytes(array.values());
}

/// Returns the bytes of a RowColumn. For one thread at a time, as appending rows is.
template <class Column>
std::uint64_t bytes_of_column(const Column& column) {
  const auto sum_of = [](const auto& values) { return owned_bytes(values); };
  std::uint64_t total =
      column.values.held_bytes() + column.owned.of(column.values.values(), sum_of);
  if constexpr (requires { column.row_splits; }) total += bytes_of_array(column.row_splits);
  if constexpr (requires { column.inner_splits; }) total += bytes_of_array(column.inner_splits);
  return total;
}

template <class U>
std::size_t spare_bytes_of_array(const AlignedArray<U>& array) {
  return array.held_bytes() - array.size() * sizeof(U);
}

/// Returns the bytes of bytes_of_column() that no row uses yet.
template <class Column>
std::uint64_t spare_bytes_of_column(const Column& column) {
  std::uint64_t total = spare_bytes_of_array(column.values);
  if constexpr (requires { column.row_splits; }) total += spare_bytes_of_array(column.row_splits);
  if constexpr (requires { column.inner_splits; })
    total += spare_bytes_of_array(column.inner_splits);
  return total;
}

/// The values of one field in `count` rows that lie `row_bytes` apart.
struct SequenceRows {
  std::byte* first;
  std::size_t row_bytes;
  std::size_t count;

  template <class Field>
  Field& field(std::size_t row) const {
    return *std::launder(reinterpret_cast<Field*>(first + row * row_bytes));
  }
};

/// The padding of one field, and where its column lies.
struct PaddingOfField {
  std::int64_t width = -1;  ///< -1: as wide as the longest row
  double value = 0;
  BatchMemory memory = nullptr;
};

/// Returns the value that fills up a sequence; U{} for sequences without numbers.
template <class U>
U filler_of(double padding) {
  if constexpr (std::is_arithmetic_v<U>) {
    return static_cast<U>(padding);
  } else if constexpr (kIsColumnNumber<U>) {
    return U(static_cast<float>(padding));
  } else {
    return U{};
  }
}

/// Returns true if a sequence can be filled up with this number, which floats round, but no finite
/// one becomes infinite; true for sequences without numbers.
template <class U>
bool holds_padding(double value) {
  if constexpr (std::is_same_v<U, bool>) {
    return value == 0 || value == 1;
  } else if constexpr (std::is_integral_v<U>) {
    using Limits = std::numeric_limits<U>;
    constexpr double kEnd = 2 * static_cast<double>(Limits::max() / 2 + 1);
    return value >= static_cast<double>(Limits::min()) && value < kEnd &&
           value == std::trunc(value);
  } else if constexpr (sizeof(U) < sizeof(double) && kIsColumnNumber<U>) {
    return !std::isinf(static_cast<float>(filler_of<U>(value))) || std::isinf(value);
  } else {
    return true;
  }
}

/// A column of a field that isn't a sequence.
template <class V>
class PlainColumn {
 public:
  PlainColumn(const SequenceRows& rows, const PaddingOfField& field)
      : values_(rows.count, field.memory) {
    for (std::size_t i = 0; i < rows.count; ++i) {
      values_.push_back(std::move(rows.template field<V>(i)));
    }
  }
  PlainColumn(RowColumn<V>&& rows, const PaddingOfField&) : values_(std::move(rows.values)) {}
  std::span<const V> view() const { return values_.values(); }
  std::size_t bytes() const { return bytes_of_array(values_); }

 private:
  AlignedArray<V> values_;
};

/// All sequences of a field, filled up to the same width.
template <class U>
struct PaddedContent {
  PaddedContent(const SequenceRows& rows, const PaddingOfField& field) : padding(field.value) {
    using Field = std::vector<U>;
    for (std::size_t i = 0; i < rows.count; ++i) {
      width = std::max(width, rows.template field<Field>(i).size());
    }
    if (field.width >= 0) width = static_cast<std::size_t>(field.width);
    values = AlignedArray<U>(rows.count * width, field.memory);
    lengths = AlignedArray<std::int64_t>(rows.count, field.memory);
    const U filler = filler_of<U>(field.value);
    for (std::size_t i = 0; i < rows.count; ++i) {
      Field& sequence = rows.template field<Field>(i);
      lengths.push_back(static_cast<std::int64_t>(sequence.size()));
      values.append(sequence);
      values.append_copies((i + 1) * width - values.values().size(), filler);
    }
  }
  /// No row may be longer than a fixed width.
  PaddedContent(RowColumn<std::vector<U>>&& rows, const PaddingOfField& field)
      : padding(field.value), lengths(rows.size(), field.memory) {
    const std::span<const std::int64_t> splits = rows.row_splits.values();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      lengths.push_back(splits[i + 1] - splits[i]);
      width = std::max(width, static_cast<std::size_t>(lengths.values()[i]));
    }
    if (field.width >= 0) width = static_cast<std::size_t>(field.width);
    values = AlignedArray<U>(rows.size() * width, field.memory);
    const U filler = filler_of<U>(field.value);
    const std::span<U> taken = rows.values.values();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      values.append_moved(taken.subspan(static_cast<std::size_t>(splits[i]),
                                        static_cast<std::size_t>(lengths.values()[i])));
      values.append_copies((i + 1) * width - values.size(), filler);
    }
  }

  double padding;
  std::size_t width = 0;
  AlignedArray<U> values;
  AlignedArray<std::int64_t> lengths;
};

template <class Field>
inline constexpr bool kIsSequenceField = false;
template <class U, class A>
inline constexpr bool kIsSequenceField<std::vector<U, A>> = true;

/// True if a batch has the RowColumn of a member as it was filled; rows that are padded are copied.
template <class Field, template <class> class Sequence>
inline constexpr bool kStaysInBatch =
    !kIsSequenceField<Field> || !requires(const Sequence<int>& sequence) {
  sequence.width();
};

template <class Field, template <class> class Sequence>
struct ColumnOf {
  using type = PlainColumn<Field>;
};
template <class U, class A, template <class> class Sequence>
struct ColumnOf<std::vector<U, A>, Sequence> {
  using type = Sequence<U>;
};

template <class T, std::size_t I = 0>
constexpr std::size_t sequence_count() {
  if constexpr (I == leaf_count<T>()) {
    return 0;
  } else {
    return (kIsSequenceField<std::tuple_element_t<I, LeafTypes<T>>> ? 1 : 0) +
           sequence_count<T, I + 1>();
  }
}

/// Throws Error(data_loss).
[[noreturn]] void refuse_long_sequence(const char* stage, std::size_t length, std::int64_t width);

/// Throws if a sequence of the row is longer than its fixed width.
template <class T>
void check_widths(const char* stage, const T& row, const PaddingOfField* paddings) {
  std::size_t i = 0;
  const auto check = [&](const auto& field) {
    if constexpr (kIsSequenceField<std::remove_cvref_t<decltype(field)>>) {
      const std::int64_t width = paddings[i].width;
      if (width >= 0 && field.size() > static_cast<std::size_t>(width)) {
        refuse_long_sequence(stage, field.size(), width);
      }
    }
    ++i;
  };
  std::apply([&](const auto&... field) { (check(field), ...); }, tie_leaves(row));
}

template <class T, template <class> class Sequence,
          class Indices = std::make_index_sequence<leaf_count<T>()>>
struct SequenceColumns;
template <class T, template <class> class Sequence, std::size_t... I>
struct SequenceColumns<T, Sequence, std::index_sequence<I...>> {
  using type =
      std::tuple<typename ColumnOf<std::tuple_element_t<I, LeafTypes<T>>, Sequence>::type...>;
};

template <class Fields>
struct RowColumnsOf;
template <class... Fields>
struct RowColumnsOf<std::tuple<Fields...>> {
  using type = std::tuple<RowColumn<Fields>...>;
};
/// A batch in the making: the columns that rows are decoded into.
template <class T>
using RowColumns = typename RowColumnsOf<LeafTypes<T>>::type;

}  // namespace infeed::detail
