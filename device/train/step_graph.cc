#include "infeed/device/step_graph.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "refuse.h"
#include "time/clock_units.h"
#include "train/step_trace.h"

namespace infeed::detail {

std::vector<NamedType> types_of(const ColumnBatch& share) {
  std::vector<NamedType> types;
  for (std::size_t i = 0; i < share.names().size(); ++i) {
    const Column& column = share.columns()[i];
    types.push_back({.name = share.names()[i],
                     .type = fmt::format("{} {}", to_string(column.dtype()),
                                         column.values().shape().to_string())});
  }
  return types;
}

std::string signature_of(const std::vector<NamedType>& types) {
  std::string signature;
  for (const NamedType& column : types) {
    signature += fmt::format("{}{} {}", signature.empty() ? "" : ", ", column.name, column.type);
  }
  return signature;
}

std::string difference(const std::vector<NamedType>& now, const std::vector<NamedType>& before) {
  std::string text;
  const auto add = [&](std::string_view more) {
    if (!text.empty()) text += "; ";
    text += more;
  };
  for (const NamedType& column : now) {
    const auto other = std::ranges::find(before, column.name, &NamedType::name);
    if (other == before.end()) {
      add(fmt::format("{} {}, which wasn't there", column.name, column.type));
    } else if (other->type != column.type) {
      add(fmt::format("{} {}, before {}", column.name, column.type, other->type));
    }
  }
  for (const NamedType& column : before) {
    if (std::ranges::find(now, column.name, &NamedType::name) == now.end()) {
      add(fmt::format("no {}", column.name));
    }
  }
  return text;
}

}  // namespace infeed::detail

namespace infeed {
namespace {

using detail::StepTrace;
using detail::TracedInput;
using detail::TracedOperation;

/// A compiler's treatment of an operation.
struct Role {
  std::string_view name = {};
  OpKind kind = OpKind::elementwise;
  bool is_fused = true;  ///< goes into the kernel that makes its input
  bool moves = true;     ///< reads and writes memory

  /// True for pools and losses: each is a kernel of its own, and no operation goes into it.
  bool is_reduction() const { return kind == OpKind::elementwise && !is_fused; }
};

Role role_of(std::string_view name) {
  using enum OpKind;
  constexpr std::array<Role, 18> kRoles = {{
      {"dense", product, false},
      {"matrix_product", product, false},
      {"convolution", product, false},
      {"depthwise_convolution", depthwise, false},
      {"attention", batched_product, false},
      {"embedding", gather, false},
      {"layer_norm", normalisation, false},
      {"batch_norm", normalisation, false},
      {"add"},
      {"add_table"},
      {"scale"},
      {"relu"},
      {"tanh"},
      {"sigmoid"},
      {"gelu"},
      {"dropout"},
      {"take_columns"},
      {"reshape", elementwise, true, false},
  }};
  const auto found = std::ranges::find(kRoles, name, &Role::name);
  return found == kRoles.end() ? Role{.is_fused = false} : *found;
}

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

/// Gives each operation its kernel. An elementwise operation goes into the kernel of one of its
/// inputs, if no other operation reads that input and all its other inputs were there before that
/// kernel began.
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
    if (!role_of(operation.name).is_fused) return -1;
    std::int32_t latest = -1;
    for (const TracedInput& input : operation.inputs) latest = std::max(latest, input.operation);
    if (latest < 0 || readers_[static_cast<std::size_t>(latest)] != 1) return -1;
    if (role_of(trace_.operations[static_cast<std::size_t>(latest)].name).is_reduction()) return -1;
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

/// Adds up operations that run as one kernel, for the time model.
class KernelCost {
 public:
  explicit KernelCost(std::int64_t examples) : examples_(examples) {}

  void add(const TracedOperation& operation, const std::vector<std::int32_t>& inside) {
    const Role role = role_of(operation.name);
    if (op_.name.empty()) begin(operation, role.kind);
    const std::int64_t outputs = detail::divide_up(operation.output.items(), examples_);
    if (op_.rows == 0) op_.n = outputs;
    for (const TracedInput& input : operation.inputs) {
      const bool is_inside =
          input.operation >= 0 && std::ranges::find(inside, input.operation) != inside.end();
      if (input.is_variable()) {
        op_.parameters += input.shape.items();
      } else if (!is_inside && role.moves) {
        op_.input_elements += detail::divide_up(input.shape.items(), examples_);
      }
    }
    moves_ = moves_ || role.moves;
  }
  /// Appends nothing for a kernel that moves nothing.
  void append_to(std::vector<ModelOp>& ops) && {
    if (!moves_) return;
    if (op_.kind != OpKind::batched_product) {
      ops.push_back(std::move(op_));
      return;
    }
    // The scores of all heads together are as many products as one of full width.
    ModelOp context = op_;
    std::swap(context.k, context.n);
    context.name += " context";
    op_.name += " scores";
    ops.push_back(std::move(op_));
    ops.push_back(std::move(context));
  }

 private:
  void begin(const TracedOperation& operation, OpKind kind) {
    op_ = {.name = operation.name, .kind = kind};
    const Shape& y = operation.output;
    switch (kind) {
      case OpKind::product:
      case OpKind::depthwise: {
        const Shape& kernel = operation.inputs[1].shape;  // [..., in, out] or [..., in, multiplier]
        op_.n = kernel[kernel.rank() - 1];
        if (kind == OpKind::depthwise) op_.n *= kernel[2];
        op_.k = kernel.items() / std::max<std::int64_t>(op_.n, 1);
        op_.rows = rows_in(y);
        op_.needs_input_gradient = operation.inputs[0].needs_gradient;
        break;
      }
      case OpKind::batched_product:  // [examples, tokens, features]
        op_.rows = op_.n = y[1];
        op_.k = y[2];
        break;
      case OpKind::gather:
        op_.n = y[y.rank() - 1];
        op_.rows = rows_in(y);
        break;
      default:
        break;
    }
  }
  std::int64_t rows_in(const Shape& y) const {
    return detail::divide_up(y.items() / std::max<std::int64_t>(op_.n, 1), examples_);
  }

  std::int64_t examples_;
  ModelOp op_;
  bool moves_ = false;
};

/// `kernels`: the kernel of each operation; -1 is left out.
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

struct Buffer {
  std::int64_t bytes = 0;
  std::int32_t begin = 0;  ///< first and last kernel of the step, forward and backward, that needs
                           ///< it
  std::int32_t end = 0;
  std::int64_t offset = 0;

  bool lives_with(const Buffer& other) const { return begin <= other.end && other.begin <= end; }
  std::int64_t behind() const { return offset + bytes; }
};

std::int64_t lowest_free(const Buffer& buffer, const std::vector<Buffer>& placed) {
  std::vector<Buffer> in_the_way;
  for (const Buffer& other : placed) {
    if (buffer.lives_with(other)) in_the_way.push_back(other);
  }
  std::ranges::sort(in_the_way, {}, &Buffer::offset);
  std::int64_t offset = 0;
  for (const Buffer& other : in_the_way) {
    if (offset + buffer.bytes <= other.offset) break;
    offset = std::max(offset, other.behind());
  }
  return offset;
}

std::int64_t bytes_planned(std::vector<Buffer> buffers) {
  std::ranges::stable_sort(buffers, std::ranges::greater{}, &Buffer::bytes);
  std::vector<Buffer> placed;
  std::int64_t bytes = 0;
  for (Buffer& buffer : buffers) {
    buffer.offset = lowest_free(buffer, placed);
    bytes = std::max(bytes, buffer.behind());
    placed.push_back(buffer);
  }
  return bytes;
}

/// Plans the memory. A kernel's output lives from its forward to its backward pass. Its gradient
/// lives from the backward pass of the output's last reader to its own backward pass. The largest
/// are placed first, each at the lowest place that is free while it lives ("greedy by size",
/// Pisarchyk and Lee, arXiv:2001.03288).
GraphMemory graph_memory(std::span<const GraphOperation> operations, std::int32_t kernels,
                         std::int64_t bytes_of_value) {
  GraphMemory memory;
  const auto count = static_cast<std::size_t>(kernels);
  std::vector<std::int64_t> bytes(count);
  std::vector<std::int32_t> last_readers(count);
  for (std::int32_t kernel = 0; kernel < kernels; ++kernel) {
    last_readers[static_cast<std::size_t>(kernel)] = kernel;
  }
  for (const GraphOperation& operation : operations) {
    const std::int64_t of_operation = operation.output.items() * bytes_of_value;
    memory.eager_bytes += 2 * of_operation;  // output and gradient
    if (operation.kernel < 0) continue;
    bytes[static_cast<std::size_t>(operation.kernel)] = of_operation;  // the last operation's
                                                                       // output is the kernel's
    for (const std::int32_t input : operation.inputs) {
      const std::int32_t kernel = operations[static_cast<std::size_t>(input)].kernel;
      std::int32_t& last = last_readers[static_cast<std::size_t>(kernel)];
      last = std::max(last, operation.kernel);
    }
  }
  std::vector<Buffer> buffers;
  const auto backward_of = [&](std::int32_t kernel) { return 2 * kernels - 1 - kernel; };
  for (std::int32_t kernel = 0; kernel < kernels; ++kernel) {
    const auto k = static_cast<std::size_t>(kernel);
    buffers.push_back({.bytes = bytes[k], .begin = kernel, .end = backward_of(kernel)});
    buffers.push_back(
        {.bytes = bytes[k], .begin = backward_of(last_readers[k]), .end = backward_of(kernel)});
  }
  memory.planned_bytes = bytes_planned(std::move(buffers));
  return memory;
}

}  // namespace

StepGraph::StepGraph(const detail::StepTrace& trace, const ColumnBatch& share, Precision precision)
    : signature_(signature_of(detail::types_of(share))) {
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
  memory_ = graph_memory(operations_, kernels_, precision == Precision::float32 ? 4 : 2);
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

}  // namespace infeed
