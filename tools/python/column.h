#pragma once

#include <infeed/records/column_batch.h>

#include "python/nanobind_headers.h"

/// Why: batches reach Python as mappings of names to columns, and every framework takes a column
/// in its own way. column_views.h says which way copies.
///
/// Thread-safety: Batch and Column are immutable. All functions need the GIL.
namespace infeed::python {

/// A column as Python has it.
struct PyColumn {
  Column column;
  /// True if nobody outside this batch of Python's sees the values: they may be written.
  bool is_alone = false;
};

/// A batch as Python has it.
struct PyBatch {
  ColumnBatch batch;
  std::vector<bool> is_alone;  ///< by column; see PyColumn
};

/// Takes the batch over and returns Python's Batch. A column is alone if no copy of the batch and
/// no other Tensor shares its values at this moment.
nb::object make_batch(ColumnBatch batch);

/// Adds Batch and Column to the module.
void bind_columns(nb::module_& module);
/// Adds the functions that make them of pickled parts.
void bind_pickling(nb::module_& module);
/// Returns what __reduce_ex__ must return.
nb::tuple pickled(const PyColumn& column);
nb::tuple pickled(const PyBatch& batch);

/// Returns true if the mask of one of NumPy's masked arrays hides some of its values, which mean
/// nothing then.
bool hides_values(nb::handle values);

enum class TakenMemory : std::uint8_t {
  adopted,  ///< the arrays are kept alive, and must not change while anyone reads the batch
  copied,
};
/// Makes a batch of a Batch or of any mapping of names to columns: Column, arrays of NumPy or of
/// DLPack's protocol, lists of bytes or str, infeed.Ragged. Arrays that aren't contiguous, and
/// bytes, are always copied. Throws Error invalid_argument that names the column.
ColumnBatch take_batch(nb::handle mapping, TakenMemory memory = TakenMemory::adopted);
/// Makes one column; `name` is for messages.
Column take_column(nb::handle values, std::string_view name, TakenMemory memory);

}  // namespace infeed::python
