#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infeed/records/dtype.h>

/// Why: a device compiles a step for each new shape. A step that declares the shape of its batches
/// reports a changed pipeline by an error instead of by a slow run or a wrong product.
///
///     infeed::InputSignature inputs = {
///         {"image", infeed::DType::float32, {std::nullopt, 784}},  // any number of rows
///         {"label", infeed::DType::int64, {std::nullopt}},
///     };
///     infeed::Training training = {.forward = forward, .optimizer = &adam, .inputs = inputs};
///
/// The declaration is compared with the whole batch, over all replicas. With a number of rows a
/// partial batch is refused, so that there is one shape to compile for. With std::nullopt it is
/// taken, and each number of rows is compiled by itself (FitResult::compilations). Columns are
/// dense or padded; the device takes their values as they are. Each column must be declared; an
/// empty signature accepts anything.
///
/// Thread-safety: values.
/// Errors invalid_argument: a batch that doesn't fit, with step, column, what was found and what
/// was expected, whatever the number of replicas; a declaration that makes no sense.
namespace infeed {

struct InputColumn {
  std::string name = {};
  DType dtype = DType::float32;
  /// Extents of the column's values, the batch's rows first; std::nullopt: any.
  std::vector<std::optional<std::int64_t>> shape = {};
};

using InputSignature = std::vector<InputColumn>;

}  // namespace infeed
