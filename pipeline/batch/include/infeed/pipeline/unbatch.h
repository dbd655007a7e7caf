#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/sequence_batch.h>

namespace infeed {

/// Takes batches (or vectors) apart again, into single rows.
///
///     images | infeed::batch(1024) | infeed::map(normalise_all) | infeed::unbatch()
///
/// The rows of a PaddedBatch come without padding. Those of a ColumnBatch are ColumnBatches of one
/// row, which share its memory.
///
/// An error in the place of a batch stays one error. A batch without rows gives nothing.
inline auto unbatch(StageOptions options = {});

// Only the library reads what follows.
namespace detail {

/// Gives access to the rows of one kind of element.
struct RowAccess {
  std::size_t (*count)(const void* element);
  /// Constructs rows first .. first+count-1 at `out`. Stops after a row that throws, with `error`
  /// set; `consumed` counts that row.
  KernelResult (*take)(void* element, std::size_t first, std::size_t count, void* out,
                       ErrorPointer& error);
};

NodePointer make_unbatch(const RowAccess& access, const TypeInfo& out_type, NodePointer input);

/// Calls make(i) for rows first .. first+count-1 and puts the results at `out`.
template <class T, class Make>
KernelResult construct_rows(std::size_t first, std::size_t count, void* out, ErrorPointer& error,
                            Make make) {
  T* const output = static_cast<T*>(out);
  std::size_t i = 0;
  try {
    for (; i < count; ++i) ::new (static_cast<void*>(output + i)) T(make(first + i));
    return {count, count};
  } catch (...) {
    error = current_error();
    return {i + 1, i};
  }
}

template <class T>
KernelResult take_batch_rows(void* element, std::size_t first, std::size_t count, void* out,
                             ErrorPointer& error) {
  const auto& batch = *static_cast<const Batch<T>*>(element);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto columns = std::tuple(batch.template column<I>().data()...);
    return construct_rows<T>(first, count, out, error, [&](std::size_t i) -> decltype(auto) {
      return from_leaves<T>([&](auto leaf) -> const auto& {
        return std::get<decltype(leaf)::value>(columns)[i];
      });
    });
  }
  (std::make_index_sequence<Batch<T>::kColumns>());
}

template <class T>
KernelResult take_vector_rows(void* element, std::size_t first, std::size_t count, void* out,
                              ErrorPointer& error) {
  auto& rows = *static_cast<std::vector<T>*>(element);
  return construct_rows<T>(first, count, out, error, [&](std::size_t i) -> decltype(auto) {
    if constexpr (std::is_same_v<T, bool>) {
      return static_cast<bool>(rows[i]);
    } else {
      return std::move(rows[i]);
    }
  });
}

template <class Element>
std::size_t row_count(const void* element) {
  return static_cast<const Element*>(element)->size();
}

template <class T, template <class> class Sequence>
KernelResult take_sequence_rows(void* element, std::size_t first, std::size_t count, void* out,
                                ErrorPointer& error) {
  const auto& batch = *static_cast<const SequenceBatch<T, Sequence>*>(element);
  return construct_rows<T>(first, count, out, error,
                           [&](std::size_t i) { return sequence_row(batch, i); });
}

/// Returns the access to rows of ColumnBatches.
RowAccess column_row_access();

struct UnbatchStageFactory {
  using ComposesAsStage = void;
  template <class T>
  Dataset<T> operator()(const Dataset<Batch<T>>& input) const {
    static_assert(kIsCopyable<T>,
                  "infeed::unbatch: batches may be shared, so their rows are copied out and must "
                  "be copyable");
    return Dataset<T>(
        make_unbatch({&row_count<Batch<T>>, &take_batch_rows<T>}, type_info<T>(), input.node()));
  }
  template <class T>
  Dataset<T> operator()(const Dataset<std::vector<T>>& input) const {
    return Dataset<T>(make_unbatch({&row_count<std::vector<T>>, &take_vector_rows<T>},
                                   type_info<T>(), input.node()));
  }
  template <class T, template <class> class Sequence>
  Dataset<T> operator()(const Dataset<SequenceBatch<T, Sequence>>& input) const {
    return Dataset<T>(
        make_unbatch({&row_count<SequenceBatch<T, Sequence>>, &take_sequence_rows<T, Sequence>},
                     type_info<T>(), input.node()));
  }
  Dataset<ColumnBatch> operator()(const Dataset<ColumnBatch>& input) const {
    return Dataset<ColumnBatch>(
        make_unbatch(column_row_access(), type_info<ColumnBatch>(), input.node()));
  }
  template <class Element>
  auto operator()(const Dataset<Element>&) const {
    static_assert(
        !std::is_same_v<Element, Element>,
        "infeed::unbatch: the dataset's Element must be an infeed::Batch, PaddedBatch, RaggedBatch "
        "or ColumnBatch, or a std::vector; to take other containers apart use infeed::flat_map");
    return refused();
  }
};

}  // namespace detail

inline auto unbatch(StageOptions options) {
  return named_stage(options.name, detail::UnbatchStageFactory{});
}

}  // namespace infeed
