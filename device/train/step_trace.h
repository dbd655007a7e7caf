#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/device/tape.h>
#include <infeed/records/column_batch.h>

// The record of a tape's operations, and of the columns that it ran on, for step_graph.h.

namespace infeed::detail {

struct TracedInput {
  Shape shape = {};
  std::int32_t operation = -1;  ///< number of the operation that made it
  bool needs_gradient = false;  ///< a trained variable, or made from one

  bool is_variable() const { return operation < 0 && needs_gradient; }
};

struct TracedOperation {
  std::string name = {};
  Shape output = {};
  std::vector<TracedInput> inputs = {};
};

struct StepTrace {
  std::vector<TracedOperation> operations = {};
  std::int32_t losses = -1;  ///< number of the operation that made the losses
  bool is_complete = false;

  /// Ends the trace at the losses: their mean, which comes behind, isn't the function's.
  void end(const TapeValue& of_losses) {
    losses = of_losses.operation();
    is_complete = true;
  }

  void add(const TapeOperation& operation) {
    if (is_complete) return;
    TracedOperation traced{.name = std::string(operation.name), .output = operation.output};
    for (const TapeValue& input : operation.inputs) {
      traced.inputs.push_back({.shape = input.shape(),
                               .operation = input.operation(),
                               .needs_gradient = input.is_recorded()});
    }
    operations.push_back(std::move(traced));
  }
};

/// A column, with a type such as "float32 [128, 784]".
struct NamedType {
  std::string name = {};
  std::string type = {};
};
std::vector<NamedType> types_of(const ColumnBatch& share);
std::string signature_of(const std::vector<NamedType>& types);
/// Names the types that changed, appeared or are gone: Compilation::reason.
std::string difference(const std::vector<NamedType>& now, const std::vector<NamedType>& before);

}  // namespace infeed::detail
