#pragma once

#include <cstdint>
#include <span>

#include <infeed/device/input_signature.h>
#include <infeed/records/column_batch.h>

// Compares batches with the declarations of input_signature.h.

namespace infeed::detail {

/// Throws invalid_argument for a declaration that makes no sense.
void check_signature(const InputSignature& signature);

/// Compares the shares of one batch with the signature; `number`: the step's, from 0. Throws
/// invalid_argument.
void check_inputs(const InputSignature& signature, std::span<const ColumnBatch> shares,
                  std::int64_t number);

/// Returns the same columns with any number of rows: a validation must see each example.
InputSignature with_any_rows(InputSignature signature);

}  // namespace infeed::detail
