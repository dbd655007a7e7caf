#pragma once

#include <functional>
#include <optional>

#include "infeed/records/column_batch.h"
#include "infeed/records/detail/arrow_abi.h"

/// Why: pyarrow, pandas, polars, DuckDB and Spark take tables by Arrow's C interfaces, without a
/// copy and without linking Arrow.
///
///     std::vector<infeed::ColumnBatch> batches;
///     ArrowArrayStream stream;
///     infeed::export_arrow_stream(
///         [&batches, next = std::size_t{0}]() mutable -> std::optional<infeed::ColumnBatch> {
///           if (next == batches.size()) return std::nullopt;
///           return batches[next++];
///         },
///         &stream);
///     stream.release(&stream);                                   // the consumer does that
///
/// A batch is a struct array (pyarrow's RecordBatch) without nulls:
///
/// | column                  | Arrow type                                                        |
/// |-------------------------|-------------------------------------------------------------------|
/// | dense numbers, shape [] | int8 to uint64, float16 ("halffloat"), float32, float64           |
/// | dense, shape [28, 28]   | fixed_size_list<fixed_size_list<..., 28>, 28>                     |
/// | bool                    | bool, of bits: the one type whose values are copied               |
/// | bfloat16                | uint16 with the bits, and metadata "infeed.dtype" = "bfloat16"    |
/// | ragged                  | large_list of it, one for each level                              |
/// | bytes, ragged_bytes     | large_binary, large_list of it                                    |
/// | padded                  | fixed_size_list of the width, and behind it a column NAME.lengths |
///
/// (Arrow has no bfloat16. NumPy can read uint16, and .view(ml_dtypes.bfloat16) makes numbers of
/// it.)
///
/// Ownership: each array holds references to its Tensors until its release callback, which any
/// thread may call; batches, pools and sources may be gone by then. Errors: exporting a batch
/// throws (invalid_argument for a name with a zero byte, which Arrow's names can't have). A
/// stream's functions return an errno code, and get_last_error() has the Error's text. Asking a
/// stream again goes on behind the batch that failed.
/// Thread-safety: a stream belongs to one thread at a time.
namespace infeed {

/// Fills both structs, which the caller must release.
void export_arrow(const ColumnBatch& batch, ArrowSchema* schema, ArrowArray* array);

/// `next` gives one batch a call, and nothing at the end; the reader of the stream calls it. All
/// batches must have the first one's names and types. get_schema() asks for the first batch; a
/// source without batches has no columns.
void export_arrow_stream(std::function<std::optional<ColumnBatch>()> next,
                         ArrowArrayStream* stream);

}  // namespace infeed
