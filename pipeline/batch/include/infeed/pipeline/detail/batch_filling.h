#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/records/record.h>

/// Batches whose rows a function writes in place: a batch of inputs goes in, a batch of results and
/// the error of the rows that failed come out.
namespace infeed {
namespace detail {

struct FillOptions {
  Count parallelism = 1;
  bool drop_remainder = false;
  StageName name = {};
};

/// A batch of which rows are written in place.
class BatchFiller {
 public:
  /// `layout` lives for ever (batch_layout<T>()).
  BatchFiller(const BatchLayout& layout, std::size_t rows_max);

  /// A fresh batch of `rows` rows, whose columns are yet to be constructed.
  BatchReference take(std::size_t rows) const;
  /// Keeps the first `rows`, destroys the others.
  static void shrink(const BatchReference& batch, std::size_t rows);

 private:
  std::shared_ptr<BatchPool> pool_;
};

template <class Column>
void construct_column(void* at, std::size_t rows) {
  if constexpr (!std::is_trivially_default_constructible_v<Column>) {
    std::uninitialized_value_construct_n(static_cast<Column*>(at), rows);
  }
}

template <class T>
void construct_columns(const BatchReference& batch, std::size_t rows) {
  if constexpr (field_count<T>() == 0) {
    construct_column<T>(batch.column(0), rows);
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (construct_column<std::tuple_element_t<I, FieldTypes<T>>>(batch.column(I), rows), ...);
    }
    (std::make_index_sequence<field_count<T>()>());
  }
}

/// What `first` says, and how many rows of the batch failed in all.
ErrorPointer rows_failed(const ErrorPointer& first, std::size_t failed, std::size_t rows);

/// What the filling of one batch gives: the rows that went well, and the error of those that did
/// not.
template <class B>
struct Filled {
  B batch;  ///< empty when no row went well
  ErrorPointer error;
};

}  // namespace detail

template <class B>
struct IsTriviallyRelocatable<detail::Filled<B>> : std::true_type {};
template <>
struct Payload<detail::BatchReference> {
  static std::size_t bytes(const detail::BatchReference& batch) { return batch.bytes(); }
};

namespace detail {

enum class Unfolded { batch, error, error_before_batch };

/// Moves the error of the Filled<B> at `at`, or else its batch, to `out`; the object is gone unless
/// its batch is yet to come.
template <class B>
Unfolded unfold(void* at, Chunk& out) {
  auto& filled = *static_cast<Filled<B>*>(at);
  const bool failed = filled.error != nullptr;
  if (failed) {
    out.set_error(std::move(filled.error));
    if (filled.batch.size() != 0) return Unfolded::error_before_batch;
  } else {
    out.append(std::move(filled.batch));
  }
  filled.~Filled<B>();
  return failed ? Unfolded::error : Unfolded::batch;
}

struct UnfoldSpec {
  const TypeInfo* filled_type;
  const TypeInfo* batch_type;
  Unfolded (*unfold)(void* at, Chunk& out);
};
/// Hands on the error, then the batch, of each Filled.
NodePointer make_unfold(UnfoldSpec spec, NodePointer input);

/// Fills the rows of Batch<Out> by `write(In, BatchReference, row)`.
template <class Out, class Write>
struct FillColumns {
  using Filling = BatchReference;
  using Result = BatchReference;

  BatchReference begin(std::size_t rows) const {
    BatchReference batch = filler.take(rows);
    construct_columns<Out>(batch, rows);
    return batch;
  }
  template <class In>
  void write_row(const In& element, BatchReference& batch, std::size_t row) const {
    write(element, batch, row);
  }
  BatchReference finish(BatchReference batch, std::size_t rows) const {
    BatchFiller::shrink(batch, rows);
    return rows == 0 ? BatchReference() : batch;
  }

  BatchFiller filler;
  Write write;
};

template <class In, class Fill>
KernelResult fill_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                         const Place&, ErrorPointer&) {
  const auto& fill = *static_cast<const Fill*>(function);
  using Result = typename Fill::Result;
  auto* const inputs = static_cast<Batch<In>*>(in);
  auto* const outputs = static_cast<Filled<Result>*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    const Batch<In> input = std::move(inputs[i]);
    inputs[i].~Batch<In>();
    typename Fill::Filling filling = fill.begin(input.size());
    std::size_t row = 0;
    ErrorPointer first;
    for (std::size_t k = 0; k < input.size(); ++k) {
      try {
        fill.write_row(input[k], filling, row);
        ++row;
      } catch (...) {
        if (first == nullptr) first = current_error();
      }
    }
    if (first != nullptr) first = rows_failed(first, input.size() - row, input.size());
    ::new (static_cast<void*>(outputs + i))
        Filled<Result>{fill.finish(std::move(filling), row), std::move(first)};
  }
  return {count, count};
}

/// A batch of them must be one column, from which the rows are written.
template <class In>
inline constexpr bool kIsRowInput = field_count<In>() == 0 || std::is_same_v<In, Record>;

/// `Out` is a batch whose memory a Fill::Result is.
template <class Out, class In, class Fill>
Dataset<Out> fill_batches(const Dataset<In>& input, std::int64_t size, Fill fill, std::string name,
                          const FillOptions& options) {
  using Result = Filled<typename Fill::Result>;
  const Dataset<Batch<In>> inputs =
      input | BatchStageFactory{size, {.drop_remainder = options.drop_remainder}, Lengths::any};
  ElementwiseSpec spec{.name = name, .signature = name, .out_type = &type_info<Result>()};
  spec.kernel = &fill_kernel<In, Fill>;
  spec.function = share_function(std::move(fill));
  spec.parallelism = options.parallelism;
  return Dataset<Out>(
      make_unfold({&type_info<Result>(), &type_info<Out>(), &unfold<typename Fill::Result>},
                  named(make_elementwise(std::move(spec), inputs.node()), options.name)));
}

template <class Out, class In, class Write>
Dataset<Batch<Out>> fill_columns(const Dataset<In>& input, std::int64_t size, Write write,
                                 std::string name, const FillOptions& options) {
  return fill_batches<Batch<Out>>(
      input, size,
      FillColumns<Out, Write>{BatchFiller(batch_layout<Out>(), static_cast<std::size_t>(size)),
                              std::move(write)},
      std::move(name), options);
}

/// For each feature of the schema, the column of Batch<T> that it fills; throws invalid_argument
/// when a column has none, or several.
std::vector<std::size_t> columns_of_features(std::string_view stage, const BatchLayout& layout,
                                             const std::vector<std::size_t>& feature_offsets);
template <class T, class Schema>
std::vector<std::size_t> columns_of_schema(std::string_view stage, const Schema& schema) {
  std::vector<std::size_t> offsets;
  for (const auto& column : schema.columns()) offsets.push_back(column.offset_bytes);
  return columns_of_features(stage, batch_layout<T>(), offsets);
}

}  // namespace detail
}  // namespace infeed
