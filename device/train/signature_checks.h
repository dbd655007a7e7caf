#pragma once

#include <cstdint>
#include <span>

#include <infeed/device/input_signature.h>
#include <infeed/records/column_batch.h>

// Holds batches against what input_signature.h declares.

namespace infeed::detail {

/// Error invalid_argument: a declaration that makes no sense.
void check_signature(const InputSignature& signature);

/// Holds the shares of one batch against it; `number`: of the step, from 0. Error invalid_argument.
void check_inputs(const InputSignature& signature, std::span<const ColumnBatch> shares,
                  std::int64_t number);

/// Returns the same columns with any number of rows: a validation must see each example.
InputSignature with_any_rows(InputSignature signature);

}  // namespace infeed::detail
