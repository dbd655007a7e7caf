#include "infeed/device/step_graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "refuse.h"
#include "train/graph_memory.h"
#include "train/step_graphs.h"
#include "train/step_trace.h"

namespace infeed {
namespace {

using detail::StepTrace;
using detail::TracedInput;
using detail::TracedOperation;

/// What a compiler makes of an operation.
enum class Role : std::uint8_t {
  product,
  depthwise,
  attention,
  gather,
  normalisation,
  elementwise,  ///< goes into the kernel that makes what it reads
  reshape,      ///< as elementwise, and moves nothing
  reduction,    ///< pools, losses: a kernel of their own
};

Role role_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Role>, 18> kRoles = {{
      {"dense", Role::product},
      {"matrix_product", Role::product},
      {"convolution", Role::product},
      {"depthwise_convolution", Role::depthwise},
      {"attention", Role::attention},
      {"embedding", Role::gather},
      {"layer_norm", Role::normalisation},
      {"batch_norm", Role::normalisation},
      {"add", Role::elementwise},
      {"add_table", Role::elementwise},
      {"scale", Role::elementwise},
      {"relu", Role::elementwise},
      {"tanh", Role::elementwise},
      {"sigmoid", Role::elementwise},
      {"gelu", Role::elementwise},
      {"dropout", Role::elementwise},
      {"take_columns", Role::elementwise},
      {"reshape", Role::reshape},
  }};
  const auto found = std::ranges::find(kRoles, name, &std::pair<std::string_view, Role>::first);
  return found == kRoles.end() ? Role::reduction : found->second;
}

bool is_fused(Role role) { return role == Role::elementwise || role == Role::reshape; }

std::vector<bool> needed_by_losses(const StepTrace& trace) {
  std::vector<bool> needed(trace.operations.size());
  if (trace.losses < 0) return needed;
  needed[static_cast<std::size_t>(trace.losses)] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const TracedInput& input : trace.operations[i].inputs) {
      if (input.operation >= 0) needed[static_cast<std::size_t>(input.operation)] = true;
    }
  }
  return needed;
}

/// Gives each operation its kernel: what is elementwise goes into the kernel of what it reads, if nobody
/// else reads that and all else that it reads was there before that kernel began.
class Fusion {
 public:
  explicit Fusion(const StepTrace& trace)
      : trace_(trace),
        needed_(needed_by_losses(trace)),
        kernels_(needed_.size(), -1),
        readers_(needed_.size()) {
    for (std::size_t i = 0; i < needed_.size(); ++i) {
      if (!needed_[i]) continue;
      for (const TracedInput& input : trace_.operations[i].inputs) {
        if (input.operation >= 0) ++readers_[static_cast<std::size_t>(input.operation)];
      }
    }
    for (std::size_t i = 0; i < needed_.size(); ++i) {
      if (!needed_[i]) continue;
      kernels_[i] = kernel_to_join(trace_.operations[i]);
      if (kernels_[i] >= 0) continue;
      kernels_[i] = static_cast<std::int32_t>(firsts_.size());
      firsts_.push_back(static_cast<std::int32_t>(i));
    }
  }

  const std::vector<std::int32_t>& kernels() const { return kernels_; }
  std::int32_t count() const { return static_cast<std::int32_t>(firsts_.size()); }

 private:
  std::int32_t kernel_to_join(const TracedOperation& operation) const {
    if (!is_fused(role_of(operation.name))) return -1;
    std::int32_t latest = -1;
    for (const TracedInput& input : operation.inputs) latest = std::max(latest, input.operation);
    if (latest < 0 || readers_[static_cast<std::size_t>(latest)] != 1) return -1;
    if (role_of(trace_.operations[static_cast<std::size_t>(latest)].name) == Role::reduction) {
      return -1;
    }
    const std::int32_t kernel = kernels_[static_cast<std::size_t>(latest)];
    const std::int32_t first = firsts_[static_cast<std::size_t>(kernel)];
    for (const TracedInput& input : operation.inputs) {
      if (input.operation != latest && input.operation >= first) return -1;
    }
    return kernel;
  }

  const StepTrace& trace_;
  const std::vector<bool> needed_;
  std::vector<std::int32_t> kernels_;
  std::vector<std::int32_t> readers_;
  std::vector<std::int32_t> firsts_;  ///< operations, by kernel
};

std::int64_t of_an_example(std::int64_t items, std::int64_t examples) {
  return (items + examples - 1) / examples;
}

/// Operations that run as one, as the time model sees them.
class KernelCost {
 public:
  explicit KernelCost(std::int64_t examples) : examples_(examples) {}

  void add(const TracedOperation& operation, const std::vector<std::int32_t>& inside) {
    const Role role = role_of(operation.name);
    if (op_.name.empty()) begin(operation, role);
    const std::int64_t outputs = of_an_example(operation.output.items(), examples_);
    if (op_.rows == 0) op_.n = outputs;
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      const TracedInput& input = operation.inputs[i];
      if (input.is_variable()) {
        op_.parameters += input.shape.items();
      } else if (std::ranges::find(inside, input.operation) == inside.end() ||
                 input.operation < 0) {
        if (role != Role::reshape) {
          op_.input_elements += of_an_example(input.shape.items(), examples_);
        }
      }
    }
    moves_ = moves_ || role != Role::reshape;
  }
  /// Nothing for what moves nothing.
  void append_to(std::vector<ModelOp>& ops) && {
    if (!moves_) return;
    if (!is_attention_) {
      ops.push_back(std::move(op_));
      return;
    }
    // Scores of all heads together are as many products as one of full width.
    ModelOp context = op_;
    std::swap(context.k, context.n);
    context.name += " context";
    op_.name += " scores";
    ops.push_back(std::move(op_));
    ops.push_back(std::move(context));
  }

 private:
  void begin(const TracedOperation& operation, Role role) {
    op_ = {.name = operation.name, .kind = OpKind::elementwise};
    const Shape& y = operation.output;
    switch (role) {
      case Role::product: {
        const Shape& kernel = operation.inputs[1].shape;
        op_.kind = OpKind::product;
        op_.n = kernel[kernel.rank() - 1];
        op_.k = kernel.items() / std::max<std::int64_t>(op_.n, 1);
        op_.rows = of_an_example(y.items() / std::max<std::int64_t>(op_.n, 1), examples_);
        op_.needs_input_gradient = operation.inputs[0].needs_gradient;
        break;
      }
      case Role::depthwise: {
        const Shape& kernel = operation.inputs[1].shape;  // [height, width, channels, multiplier]
        op_.kind = OpKind::depthwise;
        op_.n = kernel[2] * kernel[3];
        op_.k = kernel[0] * kernel[1];
        op_.rows = of_an_example(y.items() / std::max<std::int64_t>(op_.n, 1), examples_);
        op_.needs_input_gradient = operation.inputs[0].needs_gradient;
        break;
      }
      case Role::attention:  // [examples, tokens, features]
        is_attention_ = true;
        op_.kind = OpKind::batched_product;
        op_.rows = op_.n = y[1];
        op_.k = y[2];
        break;
      case Role::gather:
        op_.kind = OpKind::gather;
        op_.n = y[y.rank() - 1];
        op_.rows = of_an_example(y.items() / std::max<std::int64_t>(op_.n, 1), examples_);
        break;
      case Role::normalisation:
        op_.kind = OpKind::normalisation;
        break;
      default:
        break;
    }
  }

  std::int64_t examples_;
  ModelOp op_;
  bool is_attention_ = false;
  bool moves_ = false;
};

/// `kernels`: of each operation; -1 is left out.
Workload workload_of(const StepTrace& trace, const std::vector<std::int32_t>& kernels,
                     std::int64_t examples, std::string description) {
  Workload workload{.name = "the model", .description = std::move(description)};
  const std::int32_t count = kernels.empty() ? 0 : *std::ranges::max_element(kernels) + 1;
  for (std::int32_t kernel = 0; kernel < count; ++kernel) {
    KernelCost cost(examples);
    std::vector<std::int32_t> inside;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i] != kernel) continue;
      cost.add(trace.operations[i], inside);
      inside.push_back(static_cast<std::int32_t>(i));
    }
    std::move(cost).append_to(workload.ops);
  }
  return workload;
}

}  // namespace

StepGraph::StepGraph(const detail::StepTrace& trace, const ColumnBatch& share, Precision precision)
    : signature_(detail::signature_of(share)) {
  const Fusion fusion(trace);
  kernels_ = fusion.count();
  std::vector<std::int32_t> alone;
  for (std::size_t i = 0; i < trace.operations.size(); ++i) {
    const TracedOperation& traced = trace.operations[i];
    GraphOperation operation{
        .name = traced.name, .output = traced.output, .kernel = fusion.kernels()[i]};
    for (const TracedInput& input : traced.inputs) {
      if (input.operation >= 0) operation.inputs.push_back(input.operation);
    }
    operations_.push_back(std::move(operation));
    alone.push_back(static_cast<std::int32_t>(i));
  }
  memory_ = detail::graph_memory(operations_, kernels_, precision == Precision::float32 ? 4 : 2);
  workload_ = workload_of(trace, fusion.kernels(), share.rows(), signature_);
  eager_workload_ = workload_of(trace, alone, share.rows(), signature_);
}

StepGraph StepGraph::trace(const ReplicaFunction& forward, const ColumnBatch& share,
                           TapeOptions options) {
  if (share.rows() == 0) {
    detail::refuse(
        "a step can't be traced on a share without rows; give it one as large as in training");
  }
  detail::StepTrace trace;
  options.training = true;
  options.on_operation = [&](const TapeOperation& operation) { trace.add(operation); };
  Tape tape(std::move(options));
  trace.end(forward(tape, share).losses);
  return {trace, share, tape.options().precision};
}

std::int32_t StepGraph::dead_operations() const {
  return static_cast<std::int32_t>(std::ranges::count(operations_, -1, &GraphOperation::kernel));
}

}  // namespace infeed
