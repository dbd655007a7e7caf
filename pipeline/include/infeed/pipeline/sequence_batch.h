#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch.h>

/// Why: sequences of different lengths in one batch. A row's std::vector fields become one padded
/// matrix or one ragged column each; its other fields become plain columns, as in Batch.
///
///     struct Sentence { std::vector<std::int32_t> tokens; std::int64_t label; };
///     void step(const infeed::PaddedBatch<Sentence>& batch) {
///       const infeed::Padded<std::int32_t>& tokens = batch.column(&Sentence::tokens);
///       use(tokens.values(), tokens.size(), tokens.width());      // [size, width], row by row
///       std::span<const std::int64_t> labels = batch.column(&Sentence::label);
///     }
///
/// Rows may be a std::vector<U> (one column: sequences()), or a plain struct, pair or tuple.
/// Ownership: copies of a batch share its memory, which never changes. Thread-safety: any thread
/// may read and drop copies. All columns start at 64-byte boundaries.
namespace infeed {
namespace detail {

/// An array of objects that are constructed one behind the other.
template <class U>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t capacity)
      : data_(static_cast<U*>(::operator new(capacity * sizeof(U), kAlignment))),
        capacity_(capacity) {}
  ~AlignedArray() {
    std::destroy_n(data_, size_);
    ::operator delete(data_, kAlignment);
  }
  AlignedArray(AlignedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  template <class V>
  void push_back(V&& value) {
    ::new (static_cast<void*>(data_ + size_)) U(std::forward<V>(value));
    ++size_;
  }
  void append_copies(std::size_t count, const U& value) {
    std::uninitialized_fill_n(data_ + size_, count, value);
    size_ += count;
  }
  /// Moves the vector's values behind the ones that are there.
  void append(std::vector<U>& values) {
    if constexpr (std::is_same_v<U, bool>) {
      for (const bool value : values) push_back(value);
    } else {
      std::uninitialized_move_n(values.data(), values.size(), data_ + size_);
      size_ += values.size();
    }
  }

  std::span<const U> values() const { return {data_, size_}; }
  std::size_t bytes() const {
    std::size_t total = capacity_ * sizeof(U);
    if constexpr (kHasPayload<U>) total += payload_bytes_run<U>(data_, size_);
    return total;
  }

 private:
  static constexpr std::align_val_t kAlignment{alignof(U) > 64 ? alignof(U) : 64};
  U* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// How a field becomes a column: `count` rows, `row_bytes` apart, of which this field is taken.
struct SequenceRows {
  std::byte* first;
  std::size_t row_bytes;
  std::size_t count;

  template <class Field>
  Field& field(std::size_t row) const {
    return *std::launder(reinterpret_cast<Field*>(first + row * row_bytes));
  }
};

/// What padding needs to know of one field.
struct PaddingOfField {
  std::int64_t width = -1;  ///< -1: the longest's
  double value = 0;
};

/// A column of a field that is no sequence.
template <class V>
class PlainColumn {
 public:
  PlainColumn(const SequenceRows& rows, const PaddingOfField&) : values_(rows.count) {
    for (std::size_t i = 0; i < rows.count; ++i) {
      values_.push_back(std::move(rows.template field<V>(i)));
    }
  }
  std::span<const V> view() const { return values_.values(); }
  std::size_t bytes() const { return values_.bytes(); }

 private:
  AlignedArray<V> values_;
};

}  // namespace detail

/// A matrix of sequences, each filled up to the same width.
template <class U>
class Padded {
 public:
  Padded(const detail::SequenceRows& rows, const detail::PaddingOfField& padding) {
    using Field = std::vector<U>;
    for (std::size_t i = 0; i < rows.count; ++i) {
      width_ = std::max(width_, rows.template field<Field>(i).size());
    }
    if (padding.width >= 0) width_ = static_cast<std::size_t>(padding.width);
    values_ = detail::AlignedArray<U>(rows.count * width_);
    lengths_ = detail::AlignedArray<std::int64_t>(rows.count);
    U filler{};
    if constexpr (std::is_arithmetic_v<U>) filler = static_cast<U>(padding.value);
    for (std::size_t i = 0; i < rows.count; ++i) {
      Field& sequence = rows.template field<Field>(i);
      lengths_.push_back(static_cast<std::int64_t>(sequence.size()));
      values_.append(sequence);
      values_.append_copies((i + 1) * width_ - values_.values().size(), filler);
    }
  }

  /// Rows, and values in each.
  std::size_t size() const { return lengths_.values().size(); }
  std::size_t width() const { return width_; }
  /// All values, row by row: size() * width() of them.
  std::span<const U> values() const { return values_.values(); }
  std::span<const U> row(std::size_t i) const { return values().subspan(i * width_, width_); }
  /// Of each row, without its padding.
  std::span<const std::int64_t> lengths() const { return lengths_.values(); }

  const Padded& view() const { return *this; }
  std::size_t bytes() const { return values_.bytes() + lengths_.bytes(); }

 private:
  std::size_t width_ = 0;
  detail::AlignedArray<U> values_;
  detail::AlignedArray<std::int64_t> lengths_;
};

/// Sequences one behind the other, and where each begins.
template <class U>
class Ragged {
 public:
  Ragged(const detail::SequenceRows& rows, const detail::PaddingOfField&)
      : row_splits_(rows.count + 1) {
    using Field = std::vector<U>;
    std::size_t total = 0;
    row_splits_.push_back(0);
    for (std::size_t i = 0; i < rows.count; ++i) {
      total += rows.template field<Field>(i).size();
      row_splits_.push_back(static_cast<std::int64_t>(total));
    }
    values_ = detail::AlignedArray<U>(total);
    for (std::size_t i = 0; i < rows.count; ++i) values_.append(rows.template field<Field>(i));
  }

  std::size_t size() const { return row_splits().size() - 1; }
  std::span<const U> values() const { return values_.values(); }
  /// Row i is values()[row_splits()[i]] up to, not including, values()[row_splits()[i + 1]], as in
  /// TensorFlow's RaggedTensor.
  std::span<const std::int64_t> row_splits() const { return row_splits_.values(); }
  std::span<const U> row(std::size_t i) const {
    const auto begin = static_cast<std::size_t>(row_splits()[i]);
    return values().subspan(begin, static_cast<std::size_t>(row_splits()[i + 1]) - begin);
  }

  const Ragged& view() const { return *this; }
  std::size_t bytes() const { return values_.bytes() + row_splits_.bytes(); }

 private:
  detail::AlignedArray<U> values_;
  detail::AlignedArray<std::int64_t> row_splits_;
};

namespace detail {

template <class Field>
inline constexpr bool kIsSequenceField = false;
template <class U, class A>
inline constexpr bool kIsSequenceField<std::vector<U, A>> = true;

template <class Field, template <class> class Sequence>
struct ColumnOf {
  using type = PlainColumn<Field>;
};
template <class U, class A, template <class> class Sequence>
struct ColumnOf<std::vector<U, A>, Sequence> {
  using type = Sequence<U>;
};

/// References to the fields of a row; a vector is its own only field.
template <class T>
auto tie_row(T& row) {
  if constexpr (kIsSequenceField<std::remove_const_t<T>>) {
    return std::tie(row);
  } else {
    return tie_fields(row);
  }
}
template <class T>
using RowFields = typename RemoveReferences<decltype(tie_row(std::declval<T&>()))>::type;
template <class T>
inline constexpr std::size_t kRowFields = std::tuple_size_v<RowFields<T>>;

template <class T, std::size_t I = 0>
constexpr std::size_t sequence_count() {
  if constexpr (I == kRowFields<T>) {
    return 0;
  } else {
    return (kIsSequenceField<std::tuple_element_t<I, RowFields<T>>> ? 1 : 0) +
           sequence_count<T, I + 1>();
  }
}

template <class T, template <class> class Sequence,
          class Indices = std::make_index_sequence<kRowFields<T>>>
struct SequenceColumns;
template <class T, template <class> class Sequence, std::size_t... I>
struct SequenceColumns<T, Sequence, std::index_sequence<I...>> {
  using type =
      std::tuple<typename ColumnOf<std::tuple_element_t<I, RowFields<T>>, Sequence>::type...>;
};

}  // namespace detail

/// PaddedBatch or RaggedBatch: see above.
template <class T, template <class> class Sequence>
class SequenceBatch {
 public:
  using row_type = T;
  static constexpr std::size_t kColumns = detail::kRowFields<T>;

  SequenceBatch() = default;
  /// Takes the rows' content; `paddings`: one a field.
  SequenceBatch(std::span<T> rows, std::span<const detail::PaddingOfField> paddings)
      : columns_(make_columns(rows, paddings, std::make_index_sequence<kColumns>())),
        size_(rows.size()) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Column I: a Padded or Ragged for a vector, else a span.
  template <std::size_t I>
  decltype(auto) column() const {
    return std::get<I>(*columns_).view();
  }
  /// The column of a struct's member.
  template <class Member, class Owner>
  decltype(auto) column(Member Owner::*member) const {
    static_assert(std::is_same_v<Owner, T>, "infeed: the member belongs to another struct");
    using Column = typename detail::ColumnOf<Member, Sequence>::type;
    return static_cast<const Column*>(addresses()[detail::column_index<T>(member)])->view();
  }
  /// The only column of a batch of vectors.
  decltype(auto) sequences() const requires(detail::kIsSequenceField<T>) { return column<0>(); }

  std::size_t bytes() const {
    if (columns_ == nullptr) return 0;
    return std::apply([](const auto&... column) { return (column.bytes() + ... + 0); }, *columns_);
  }

 private:
  using Columns = typename detail::SequenceColumns<T, Sequence>::type;

  template <std::size_t... I>
  static std::shared_ptr<const Columns> make_columns(
      std::span<T> rows, std::span<const detail::PaddingOfField> paddings,
      std::index_sequence<I...>) {
    // A field of the first row, of which there is one: no batch is made of nothing.
    const auto field = [&](auto& member) {
      return detail::SequenceRows{reinterpret_cast<std::byte*>(std::addressof(member)), sizeof(T),
                                  rows.size()};
    };
    auto members = detail::tie_row(rows.front());
    return std::make_shared<const Columns>(
        typename std::tuple_element_t<I, Columns>(field(std::get<I>(members)), paddings[I])...);
  }

  std::array<const void*, kColumns> addresses() const {
    return std::apply(
        [](const auto&... column) { return std::array<const void*, kColumns>{&column...}; },
        *columns_);
  }

  std::shared_ptr<const Columns> columns_;
  std::size_t size_ = 0;
};

template <class T>
using PaddedBatch = SequenceBatch<T, Padded>;
template <class T>
using RaggedBatch = SequenceBatch<T, Ragged>;

template <class T, template <class> class Sequence>
struct IsTriviallyRelocatable<SequenceBatch<T, Sequence>> : std::true_type {};
template <class T, template <class> class Sequence>
struct Payload<SequenceBatch<T, Sequence>> {
  static std::size_t bytes(const SequenceBatch<T, Sequence>& batch) { return batch.bytes(); }
};

}  // namespace infeed
