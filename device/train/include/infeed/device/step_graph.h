#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/replica_function.h>

/// Why: a TPU doesn't run operation by operation. A compiler sees the whole step once, leaves out
/// operations that the loss doesn't need, fuses those that only read and write memory, and plans
/// the memory. So the time of a step is that of its graph, and a new shape of batch is compiled
/// anew. Both can be seen here.
///
///     infeed::StepGraph graph = infeed::StepGraph::trace(forward, columns);
///     graph.signature();                                   // "image float32 [128, 784], ..."
///     infeed::StepTime compiled = infeed::step_time(graph.workload(), slice, 1024);
///     infeed::StepTime eager =
///         infeed::step_time(graph.eager_workload(), slice, 1024, {.launches_operations = true});
///
/// Only the simulated device compiles: the arithmetic of fit() and Strategy runs as it was written,
/// with the same bits.
///
/// Thread-safety: values. Errors: those of the function; invalid_argument for a share without rows.
namespace infeed {

namespace detail {
struct StepTrace;
class SimulatedSteps;
}  // namespace detail

struct GraphOperation {
  std::string name = {};
  Shape output = {};
  std::vector<std::int32_t> inputs = {};  ///< operations by number; no variables, constants
  /// The kernel that it is part of, from 0; fused operations share one. -1: not needed by the loss.
  std::int32_t kernel = -1;
};

/// Memory for activations and their gradients of one share; variables come on top (hbm_need.h).
struct GraphMemory {
  std::int64_t eager_bytes = 0;    ///< each operation's, kept to the end of the step
  std::int64_t planned_bytes = 0;  ///< fused; memory is reused once nobody reads it
};

class StepGraph {
 public:
  /// Runs the function once on this share, forward; it may read the variables of options.strategy.
  static StepGraph trace(const ReplicaFunction& forward, const ColumnBatch& share,
                         TapeOptions options = {});

  /// Names, types and shapes of the share's columns: the graph is compiled for these.
  const std::string& signature() const { return signature_; }
  /// All operations in the order in which they ran.
  std::span<const GraphOperation> operations() const { return operations_; }
  std::int32_t kernels() const { return kernels_; }
  GraphMemory memory() const { return memory_; }
  /// The cost of one example on a slice, for step_time(): one ModelOp for each kernel.
  /// eager_workload() has one for each operation.
  Workload workload() const { return workload_; }
  Workload eager_workload() const { return eager_workload_; }

 private:
  friend class detail::SimulatedSteps;
  StepGraph(const detail::StepTrace& trace, const ColumnBatch& share, Precision precision);

  std::string signature_;
  std::vector<GraphOperation> operations_;
  std::int32_t kernels_ = 0;
  GraphMemory memory_;
  Workload workload_;
  Workload eager_workload_;
};

/// A graph that was made during a run.
struct Compilation {
  std::int64_t step = 0;  ///< from 1: the first one with this signature
  std::string signature = {};
  /// The difference from the last graph: "image float32 [96, 784], before [128, 784]"; "": the
  /// first.
  std::string reason = {};
  std::int32_t operations = 0;
  std::int32_t kernels = 0;
  std::int64_t compilation_ps = 0;  ///< charged to the step as idle time
};

}  // namespace infeed
