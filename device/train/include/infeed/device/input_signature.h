#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infeed/records/dtype.h>

/// Why: a device compiles a step for the shapes that it sees, and compiles again for others. A step that
/// says what its batches look like learns of a pipeline that has changed from an error instead of from
/// a slow run or a wrong product.
///
///     infeed::InputSignature inputs = {
///         {"image", infeed::DType::float32, {std::nullopt, 784}},  // any number of rows
///         {"label", infeed::DType::int64, {std::nullopt}},
///     };
///     infeed::Training training = {.forward = forward, .optimizer = &adam, .inputs = inputs};
///
/// It is held against the whole batch, over all replicas. With a number of rows a partial batch is
/// refused, so that there is one shape to compile for; with std::nullopt it is taken, and each number
/// of rows is compiled for itself (FitResult::compilations). Columns are dense or padded, whose values
/// the device takes as they are, and each is declared; none declared: anything is taken.
///
/// Thread-safety: values.
/// Errors invalid_argument: a batch that doesn't fit, with step, column, what it is and what was
/// expected, whatever the number of replicas; a declaration that makes no sense.
namespace infeed {

struct InputColumn {
  std::string name = {};
  DType dtype = DType::float32;
  /// Extents of the column's values, the batch's rows first; std::nullopt: any.
  std::vector<std::optional<std::int64_t>> shape = {};
};

using InputSignature = std::vector<InputColumn>;

}  // namespace infeed
