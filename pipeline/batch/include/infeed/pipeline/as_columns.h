#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/member_names.h>
#include <infeed/pipeline/sequence_batch.h>
#include <infeed/records/column_batch.h>

/// Why: a batch whose struct is known at compile time can go to NumPy, PyTorch or Arrow (dlpack.h,
/// arrow.h), or to code that knows no struct, as columns with names.
///
///     struct Pixels { std::array<float, 784> image; std::int64_t label; };
///     void step(const infeed::Batch<Pixels>& batch) {
///       const infeed::ColumnBatch columns = infeed::as_columns(batch);
///       std::span<const std::int64_t> labels = columns.column("label").values<std::int64_t>();
///     }
///
/// | leaf of a row (leaves.h)                         | column                                      |
/// |--------------------------------------------------|---------------------------------------------|
/// | a number, bool, byte, enum                       | dense [rows]                                |
/// | std::array of them, also in each other           | dense [rows, N, ...]                        |
/// | std::string, Record                              | bytes; copied                               |
/// | std::vector of the first two, of a PaddedBatch   | padded                                      |
/// | std::vector of them, of a RaggedBatch            | ragged, of one level or two                 |
/// | std::vector of std::string, of a RaggedBatch     | ragged_bytes; copied                        |
///
/// Only strings are copied; the columns keep the batch alive. Names are those of member_names(), or
/// given: one per leaf, otherwise it throws invalid_argument.
namespace infeed {

namespace detail {

/// Describes the values of a leaf: the type of their items, and the shape of each value.
template <class U>
struct LeafItem {
  using type = U;
  static void append_shape(std::vector<std::int64_t>&) {}
};
template <class U>
requires std::is_enum_v<U> &&(!std::is_same_v<U, std::byte>)struct LeafItem<U> {
  using type = std::underlying_type_t<U>;
  static void append_shape(std::vector<std::int64_t>&) {}
};
template <class U, std::size_t N>
struct LeafItem<std::array<U, N>> {
  using type = typename LeafItem<U>::type;
  static void append_shape(std::vector<std::int64_t>& shape) {
    shape.push_back(static_cast<std::int64_t>(N));
    LeafItem<U>::append_shape(shape);
  }
};

template <class U>
inline constexpr bool kIsText = std::is_same_v<U, std::string> || std::is_same_v<U, Record>;

using Keeper = std::shared_ptr<const void>;

/// Returns a tensor that shows values in the batch's memory, in an array of `extents` of U.
template <class U>
Tensor shown_values(const U* values, std::vector<std::int64_t> extents, const Keeper& keeper) {
  LeafItem<U>::append_shape(extents);
  return Tensor::adopt(dtype_of<typename LeafItem<U>::type>(),
                       Shape(std::span<const std::int64_t>(extents)), values, keeper);
}

inline Tensor shown_splits(std::span<const std::int64_t> splits, const Keeper& keeper) {
  return shown_values(splits.data(), {static_cast<std::int64_t>(splits.size())}, keeper);
}

/// Returns a bytes column with copies of the texts.
template <class Text>
Column copied_texts(std::span<const Text> texts) {
  std::vector<std::string_view> views;
  views.reserve(texts.size());
  for (const Text& text : texts) {
    if constexpr (std::is_same_v<Text, Record>) {
      views.push_back(text.bytes());
    } else {
      views.push_back(text);
    }
  }
  return Column::of_bytes(views);
}

template <class Content>
Column shown_column(const Content& column, const Keeper& keeper) {
  using U = std::remove_cvref_t<decltype(*std::declval<Content>().begin())>;
  static_assert(!kIsSequenceField<U>,
                "infeed::as_columns: sequences of any length are no column of a Batch; make it by "
                "padded_batch or ragged_batch");
  if constexpr (kIsText<U>) {
    return copied_texts(column);
  } else if constexpr (!kIsSequenceField<U>) {
    return Column::dense(
        shown_values(column.data(), {static_cast<std::int64_t>(column.size())}, keeper));
  } else {
    return {};
  }
}

template <class U>
Column shown_column(const Padded<U>& column, const Keeper& keeper) {
  static_assert(!kIsText<U>,
                "infeed::as_columns: there is no padded column of strings; use "
                "ragged_batch for them");
  const std::vector<std::int64_t> extents = {static_cast<std::int64_t>(column.size()),
                                             static_cast<std::int64_t>(column.width())};
  return Column::padded(shown_values(column.values().data(), extents, keeper),
                        shown_splits(column.lengths(), keeper));
}

template <class U>
Column shown_column(const Ragged<U>& column, const Keeper& keeper) {
  std::vector<Tensor> splits = {shown_splits(column.row_splits(), keeper)};
  if constexpr (requires { column.inner_splits(); }) {
    splits.push_back(shown_splits(column.inner_splits(), keeper));
  }
  const auto values = column.values();
  using V = std::remove_cvref_t<decltype(values[0])>;
  if constexpr (kIsText<V>) {
    const Column texts = copied_texts(values);
    return Column::ragged_bytes(std::move(splits), texts.partitions().back(), texts.values());
  } else {
    const auto items = static_cast<std::int64_t>(values.size());
    return Column::ragged(shown_values(values.data(), {items}, keeper), std::move(splits));
  }
}

template <class AnyBatch>
ColumnBatch shown_columns(const AnyBatch& batch, std::vector<std::string> names) {
  const auto kept = std::make_shared<const AnyBatch>(batch);
  std::vector<Column> columns;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (columns.push_back(shown_column(kept->template column<I>(), kept)), ...);
  }
  (std::make_index_sequence<AnyBatch::kColumns>());
  return ColumnBatch(column_names(std::move(names)), std::move(columns));
}

}  // namespace detail

template <class T>
ColumnBatch as_columns(const Batch<T>& batch, std::vector<std::string> names = member_names<T>()) {
  return detail::shown_columns(batch, std::move(names));
}
template <class T, template <class> class Sequence>
ColumnBatch as_columns(const SequenceBatch<T, Sequence>& batch,
                       std::vector<std::string> names = member_names<T>()) {
  return detail::shown_columns(batch, std::move(names));
}

}  // namespace infeed
