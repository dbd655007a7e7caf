#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/batch_codec.h>
#include <infeed/pipeline/detail/order_hash.h>
#include <infeed/pipeline/leaves.h>
#include <infeed/pipeline/sequence_batch.h>

/// The rows of a SequenceBatch, for the stages that take batches apart and join rows anew, and for
/// the codec and the hash.
namespace infeed {

namespace detail {

template <class M, class Column>
M value_of_row(const Column& column, std::size_t row) {
  if constexpr (requires { column.lengths(); }) {
    const auto values = column.row(row).first(static_cast<std::size_t>(column.lengths()[row]));
    return M(values.begin(), values.end());
  } else if constexpr (requires { column.inner_splits(); }) {
    M inner;
    for (std::size_t step = 0; step < column.row_size(row); ++step) {
      const auto values = column.inner(row, step);
      inner.emplace_back(values.begin(), values.end());
    }
    return inner;
  } else if constexpr (requires { column.row_splits(); }) {
    return M(column.row(row).begin(), column.row(row).end());
  } else {
    return column[row];
  }
}

/// Returns row i without padding.
template <class T, template <class> class Sequence>
T sequence_row(const SequenceBatch<T, Sequence>& batch, std::size_t row) {
  return from_leaves<T>([&](auto leaf) {
    constexpr std::size_t kLeaf = decltype(leaf)::value;
    using M = std::tuple_element_t<kLeaf, LeafTypes<T>>;
    return value_of_row<M>(batch.template column<kLeaf>(), row);
  });
}

/// Calls visit() with the parts that make up a column: values, and where they are cut.
template <class Column, class Visit>
void visit_parts(const Column& column, const Visit& visit) {
  if constexpr (requires { column.lengths(); }) {
    visit(column.lengths());
    visit(column.values());
  } else if constexpr (requires { column.inner_splits(); }) {
    visit(column.row_splits());
    visit(column.inner_splits());
    visit(column.values());
  } else if constexpr (requires { column.row_splits(); }) {
    visit(column.row_splits());
    visit(column.values());
  } else {
    visit(column);
  }
}

template <class T, template <class> class Sequence, class Visit>
void visit_columns(const SequenceBatch<T, Sequence>& batch, const Visit& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (visit(batch.template column<I>()), ...); }
  (std::make_index_sequence<SequenceBatch<T, Sequence>::kColumns>());
}

/// Returns the width. Each unit of width takes `column_bytes` in the column. Throws
/// Error(data_loss) if padding would make the column far larger than any writer makes it from so
/// many bytes, so that damage doesn't ask for memory.
std::int64_t checked_width(std::uint64_t width, std::size_t column_bytes,
                           std::size_t encoded_bytes);
[[noreturn]] void refuse_damaged_padding(std::size_t encoded_bytes, double padding);

/// Rows that are to be joined to a batch.
template <class T, template <class> class Sequence>
struct SequenceRowsToJoin {
  using Batch = SequenceBatch<T, Sequence>;

  SequenceRowsToJoin(const BatchMemory& memory, MemoryAccount&)
      : paddings(leaf_count<T>(), {.memory = memory}) {
    begin();
  }
  static std::size_t count(const Batch& batch) { return batch.size(); }
  /// Copies rows. A padded column becomes as wide as the widest column that rows come from.
  void append(const Batch& batch, std::size_t first, std::size_t count) {
    try {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (append_column<I>(batch.template column<I>(), first, count), ...);
      }
      (std::make_index_sequence<Batch::kColumns>());
      size += count;
    } catch (...) {
      std::apply([&](auto&... column) { (column.truncate(size), ...); }, columns);
      throw;
    }
  }
  std::uint64_t bytes() const {
    return std::apply([](const auto&... column) { return (bytes_of_column(column) + ...); },
                      columns);
  }
  Batch finish() {
    const std::size_t rows = std::exchange(size, 0);
    Batch batch(std::exchange(columns, {}), rows, paddings);
    for (PaddingOfField& field : paddings) field = {.memory = field.memory};
    begin();
    return batch;
  }

  RowColumns<T> columns;
  std::vector<PaddingOfField> paddings;
  std::size_t size = 0;

 private:
  /// Lets the columns that the batch will have lie in its memory.
  void begin() {
    std::size_t i = 0;
    const auto use = [&]<class M>(RowColumn<M>& column) {
      if (kStaysInBatch<M, Sequence>) column.use(paddings[i].memory);
      ++i;
    };
    std::apply([&](auto&... column) { (use(column), ...); }, columns);
  }
  template <std::size_t I, class Column>
  void append_column(const Column& column, std::size_t first, std::size_t count) {
    using M = std::tuple_element_t<I, LeafTypes<T>>;
    for (std::size_t row = first; row < first + count; ++row) {
      std::get<I>(columns).append(value_of_row<M>(column, row));
    }
    if constexpr (requires { column.width(); }) {
      const auto width = static_cast<std::int64_t>(column.width());
      paddings[I].width = std::max(paddings[I].width, width);
      paddings[I].value = column.padding();
    }
  }
};

}  // namespace detail

template <class T, template <class> class Sequence>
struct ElementHash<SequenceBatch<T, Sequence>, std::enable_if_t<detail::has_content<T>()>> {
  static void add(const SequenceBatch<T, Sequence>& batch, OrderHash& hash) {
    hash.add(batch.size());
    detail::visit_columns(batch, [&](const auto& column) {
      detail::visit_parts(column, [&](auto values) { detail::hash_values(hash, values); });
    });
  }
};

/// Writes rows without padding; reading pads them again.
template <class T, template <class> class Sequence>
struct ElementCodec<SequenceBatch<T, Sequence>, std::enable_if_t<kHasElementCodec<T>>> {
  using Batch = SequenceBatch<T, Sequence>;

  static std::string layout() {
    const std::string kind = kIsPadded ? "padded_batch<" : "ragged_batch<";
    return kind + ElementCodec<T>::layout() + ">";
  }
  static void encode(const Batch& batch, std::string& out) {
    detail::append_count(out, batch.size());
    if (batch.empty()) return;
    detail::visit_columns(batch, [&](const auto& column) {
      if constexpr (requires { column.width(); }) {
        detail::append_count(out, column.width());
        const double padding = column.padding();
        detail::append_bytes(out, &padding, sizeof(padding));
      }
    });
    for (std::size_t row = 0; row < batch.size(); ++row) {
      ElementCodec<T>::encode(detail::sequence_row(batch, row), out);
    }
  }
  static Batch decode(ElementReader& in) {
    const std::size_t size = in.count(1);
    if (size == 0) return {};
    std::vector<detail::PaddingOfField> paddings(Batch::kColumns);
    if constexpr (kIsPadded) read_paddings(in, size, paddings);
    std::vector<T> rows;
    for (std::size_t row = 0; row < size; ++row) {
      rows.push_back(ElementCodec<T>::decode(in));
      if constexpr (kIsPadded) detail::check_widths("cache", rows.back(), paddings.data());
    }
    return Batch(std::span<T>(rows), paddings);
  }

 private:
  static constexpr bool kIsPadded = std::is_same_v<Batch, PaddedBatch<T>>;

  static void read_paddings(ElementReader& in, std::size_t rows,
                            std::vector<detail::PaddingOfField>& paddings) {
    const std::size_t encoded_bytes = in.record().size();
    const auto read = [&]<class Field>(detail::PaddingOfField& padding, std::type_identity<Field>) {
      if constexpr (detail::kIsSequenceField<Field>) {
        const std::size_t column_bytes = rows * sizeof(typename Field::value_type);
        padding.width =
            detail::checked_width(in.number<std::uint64_t>(), column_bytes, encoded_bytes);
        padding.value = in.number<double>();
        if (!detail::holds_padding<typename Field::value_type>(padding.value)) {
          detail::refuse_damaged_padding(encoded_bytes, padding.value);
        }
      }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (read(paddings[I], std::type_identity<std::tuple_element_t<I, detail::LeafTypes<T>>>()), ...);
    }
    (std::make_index_sequence<Batch::kColumns>());
  }
};

}  // namespace infeed
