#pragma once

#include <vector>

#include "python/column.h"

/// Why: pyarrow, pandas, polars and DuckDB take tables, and give them, by Arrow's PyCapsule
/// interface, without a copy and without pyarrow between. records/arrow.h says which type a column
/// becomes.
namespace infeed::python {

nb::object arrow_schema_capsule(const ColumnBatch& batch);
/// Returns the pair (schema, array) of capsules of the batch as a struct array.
nb::tuple arrow_array_capsules(const ColumnBatch& batch);
/// Returns the same of one column alone. A padded column gives its values with padding.
nb::object arrow_schema_capsule(const Column& column);
nb::tuple arrow_array_capsules(const Column& column);
/// Returns a stream that calls `next` for each batch: a Batch, or None at the end.
nb::object arrow_stream_capsule(nb::object next);

/// Reads all batches of an object with __arrow_c_stream__ or __arrow_c_array__. Values stay where
/// they are, and keep the object's memory alive; only bits of bools, 32-bit offsets, and offsets of
/// slices are copied. Members of structs become columns "struct.member"; dates, times and durations
/// become their integers. Throws Error invalid_argument that names the column, for nulls and for
/// types without a column.
std::vector<ColumnBatch> batches_from_arrow(nb::handle source);

}  // namespace infeed::python
