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
#include <infeed/pipeline/detail/sequence_columns.h>
#include <infeed/records/detail/row_column.h>

/// Why: one batch can hold sequences of different lengths. Each std::vector field of a row becomes
/// one padded matrix or one ragged column. The other fields become plain columns, as in Batch.
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

/// A matrix of sequences that are filled up to the same width.
template <class U>
class Padded {
 public:
  /// Takes the values of the rows' vectors. No row may be longer than a fixed width.
  Padded(const detail::SequenceRows& rows, const detail::PaddingOfField& padding)
      : content_(rows, padding) {}
  Padded(RowColumn<std::vector<U>>&& rows, const detail::PaddingOfField& padding)
      : content_(std::move(rows), padding) {}

  /// Number of rows, and values in each row.
  std::size_t size() const { return content_.lengths.values().size(); }
  std::size_t width() const { return content_.width; }
  /// Returns all values, row by row: size() * width() of them.
  std::span<const U> values() const { return content_.values.values(); }
  std::span<const U> row(std::size_t i) const { return values().subspan(i * width(), width()); }
  /// Returns the length of each row without padding.
  std::span<const std::int64_t> lengths() const { return content_.lengths.values(); }
  /// Returns the value that fills up numbers.
  double padding() const { return content_.padding; }

  const Padded& view() const { return *this; }
  std::size_t bytes() const {
    return detail::bytes_of_array(content_.values) + detail::bytes_of_array(content_.lengths);
  }

 private:
  detail::PaddedContent<U> content_;
};

/// Sequences one after the other, and where each begins.
template <class U>
class Ragged {
 public:
  Ragged(const detail::SequenceRows& rows, const detail::PaddingOfField& field)
      : row_splits_(rows.count + 1, field.memory) {
    using Field = std::vector<U>;
    std::size_t total = 0;
    row_splits_.push_back(0);
    for (std::size_t i = 0; i < rows.count; ++i) {
      total += rows.template field<Field>(i).size();
      row_splits_.push_back(static_cast<std::int64_t>(total));
    }
    values_ = detail::AlignedArray<U>(total, field.memory);
    for (std::size_t i = 0; i < rows.count; ++i) values_.append(rows.template field<Field>(i));
  }
  Ragged(RowColumn<std::vector<U>>&& rows, const detail::PaddingOfField&)
      : values_(std::move(rows.values)), row_splits_(std::move(rows.row_splits)) {}

  std::size_t size() const { return row_splits().size() - 1; }
  std::span<const U> values() const { return values_.values(); }
  /// Returns where the rows begin: row i is values()[row_splits()[i]] up to, not including,
  /// values()[row_splits()[i + 1]], as in TensorFlow's RaggedTensor.
  std::span<const std::int64_t> row_splits() const { return row_splits_.values(); }
  std::span<const U> row(std::size_t i) const {
    const auto begin = static_cast<std::size_t>(row_splits()[i]);
    return values().subspan(begin, static_cast<std::size_t>(row_splits()[i + 1]) - begin);
  }

  const Ragged& view() const { return *this; }
  std::size_t bytes() const {
    return detail::bytes_of_array(values_) + detail::bytes_of_array(row_splits_);
  }

 private:
  detail::AlignedArray<U> values_;
  detail::AlignedArray<std::int64_t> row_splits_;
};

/// Rows of sequences of sequences: all values one after the other, where each inner sequence
/// begins, and which inner sequences belong to each row.
template <class V>
class Ragged<std::vector<V>> {
 public:
  Ragged(const detail::SequenceRows& rows, const detail::PaddingOfField& field) {
    rows_.use(field.memory);
    for (std::size_t i = 0; i < rows.count; ++i) {
      rows_.append(std::move(rows.template field<std::vector<std::vector<V>>>(i)));
    }
  }
  Ragged(RowColumn<std::vector<std::vector<V>>>&& rows, const detail::PaddingOfField&)
      : rows_(std::move(rows)) {}

  std::size_t size() const { return rows_.size(); }
  std::span<const V> values() const { return rows_.values.values(); }
  /// Returns where the rows begin: row i has the inner sequences row_splits()[i] up to, not
  /// including, row_splits()[i + 1].
  std::span<const std::int64_t> row_splits() const { return rows_.row_splits.values(); }
  /// Returns where the inner sequences begin: sequence j is values()[inner_splits()[j]] up to, not
  /// including, values()[inner_splits()[j + 1]].
  std::span<const std::int64_t> inner_splits() const { return rows_.inner_splits.values(); }
  std::size_t row_size(std::size_t i) const {
    return static_cast<std::size_t>(row_splits()[i + 1] - row_splits()[i]);
  }
  /// Returns inner sequence `step` of row i.
  std::span<const V> inner(std::size_t i, std::size_t step) const {
    const std::size_t j = static_cast<std::size_t>(row_splits()[i]) + step;
    const auto begin = static_cast<std::size_t>(inner_splits()[j]);
    return values().subspan(begin, static_cast<std::size_t>(inner_splits()[j + 1]) - begin);
  }

  const Ragged& view() const { return *this; }
  std::size_t bytes() const {
    return detail::bytes_of_array(rows_.values) + detail::bytes_of_array(rows_.inner_splits) +
           detail::bytes_of_array(rows_.row_splits);
  }

 private:
  RowColumn<std::vector<std::vector<V>>> rows_;
};

/// A PaddedBatch or RaggedBatch: see above.
template <class T, template <class> class Sequence>
class SequenceBatch {
 public:
  using row_type = T;
  static constexpr std::size_t kColumns = detail::leaf_count<T>();

  SequenceBatch() = default;
  /// Takes the rows' content. `paddings` has one per field.
  SequenceBatch(std::span<T> rows, std::span<const detail::PaddingOfField> paddings)
      : columns_(make_columns(rows, paddings, std::make_index_sequence<kColumns>())),
        size_(rows.size()) {}
  SequenceBatch(detail::RowColumns<T>&& columns, std::size_t size,
                std::span<const detail::PaddingOfField> paddings)
      : columns_(adopt_columns(std::move(columns), paddings, std::make_index_sequence<kColumns>())),
        size_(size) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Returns column I: a Padded or Ragged for a vector, else a span.
  template <std::size_t I>
  decltype(auto) column() const {
    return std::get<I>(*columns_).view();
  }
  /// Returns the column of a struct's member. If the member is a struct, name a member of that
  /// next, and so on.
  template <class Member, class Owner, class... Inner>
  decltype(auto) column(Member Owner::*member, Inner... inner) const {
    static_assert(std::is_same_v<Owner, T>, "infeed: the member belongs to another struct");
    using Field = detail::MemberAt<T, Member Owner::*, Inner...>;
    using MemberColumn = typename detail::ColumnOf<Field, Sequence>::type;
    const std::size_t index = detail::column_index<T>(member, inner...);
    return static_cast<const MemberColumn*>(addresses()[index])->view();
  }
  /// Returns the only column of a batch of vectors.
  decltype(auto) sequences() const requires(detail::kIsSequenceField<T>) { return column<0>(); }

  /// Returns the bytes of the batch's memory, payload of the elements included.
  std::size_t bytes() const {
    if (columns_ == nullptr) return 0;
    constexpr std::size_t kColumnsBytes = sizeof(Columns) + 32;  // and their count, and a header
    return std::apply([](const auto&... column) { return (column.bytes() + ... + kColumnsBytes); },
                      *columns_);
  }

 private:
  using Columns = typename detail::SequenceColumns<T, Sequence>::type;

  template <std::size_t... I>
  static std::shared_ptr<const Columns> make_columns(
      std::span<T> rows, std::span<const detail::PaddingOfField> paddings,
      std::index_sequence<I...>) {
    // A field of the first row. There is a first row, since no batch is made of zero rows.
    const auto field = [&](auto& member) {
      return detail::SequenceRows{reinterpret_cast<std::byte*>(std::addressof(member)), sizeof(T),
                                  rows.size()};
    };
    auto members = detail::tie_leaves(rows.front());
    return std::make_shared<const Columns>(
        typename std::tuple_element_t<I, Columns>(field(std::get<I>(members)), paddings[I])...);
  }

  template <std::size_t... I>
  static std::shared_ptr<const Columns> adopt_columns(
      detail::RowColumns<T>&& columns, std::span<const detail::PaddingOfField> paddings,
      std::index_sequence<I...>) {
    return std::make_shared<const Columns>(
        typename std::tuple_element_t<I, Columns>(std::move(std::get<I>(columns)), paddings[I])...);
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

// The codec and the hash of batches.
#include <infeed/pipeline/detail/sequence_rows.h>
