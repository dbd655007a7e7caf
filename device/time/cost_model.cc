#include "infeed/device/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <infeed/device/split_workload.h>

#include "refuse.h"
#include "time/clock_units.h"

namespace infeed {
namespace {

constexpr std::int64_t kMxuFillCycles = 256;
constexpr std::int64_t kSublanes = 8;
constexpr std::int64_t kLanes = 128;
/// Size of gradients that travel together. XLA's combiner has a threshold of this order; not
/// published for TPUs.
constexpr std::int64_t kBucketBytes = 32 << 20;
constexpr std::int64_t kFloat32Bytes = 4;
constexpr std::int64_t kIndexBytes = 4;
constexpr double kOperationLaunchSeconds = 20e-6;  // assumed, see StepOptions
/// A core has 8 x 128 lanes with two operations a cycle, one multiplication and one addition
/// (Jouppi et al., CACM 2020, on v3). Later generations may have more; not published for all.
constexpr std::int64_t kVectorMacsPerCycle = kSublanes * kLanes;

using detail::divide_up;
using detail::to_ps;

std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

void check(const Gemm& gemm) {
  if (gemm.m <= 0 || gemm.n <= 0 || gemm.k <= 0) {
    detail::refuse("a product of [{},{}] by [{},{}]: every size must be at least 1", gemm.m, gemm.k,
                   gemm.k, gemm.n);
  }
}

// The part of a chip that one replica owns.
struct Replica {
  const ChipSpec& chip;
  const Calibration& calibration;

  double share() const { return chip.replica_is_core ? 1.0 / chip.cores : 1.0; }
  std::int32_t cores() const { return chip.replica_is_core ? 1 : chip.cores; }
  std::int32_t mxus() const { return chip.mxus_per_core * cores(); }
  double hbm_seconds(double bytes) const {
    return bytes / (chip.hbm_gb_per_s * 1e9 * share() * calibration.hbm_efficiency);
  }
  double overhead_seconds() const { return static_cast<double>(calibration.op_overhead_ns) * 1e-9; }

  /// Returns the time of one fused operation: the longer of arithmetic and traffic.
  double seconds(const Gemm& gemm, double bytes) const {
    const double cycles = static_cast<double>(mxu_cycles(chip, mxus(), gemm));
    const double arithmetic = cycles / (chip.clock_ghz * 1e9 * calibration.mxu_efficiency);
    return std::max(arithmetic, hbm_seconds(bytes)) + overhead_seconds();
  }
  double vector_seconds(std::int64_t macs, double bytes) const {
    const double cycles = static_cast<double>(divide_up(macs, kVectorMacsPerCycle * cores()));
    return std::max(cycles / (chip.clock_ghz * 1e9), hbm_seconds(bytes)) + overhead_seconds();
  }
};

/// Counts launches: forward, the gradients of weights and input, and the update.
double launches_of(const Workload& workload) {
  double launches = 0;
  for (const ModelOp& op : workload.ops) {
    launches += 2;
    if (op.parameters > 0) launches += op.needs_input_gradient ? 2 : 1;
  }
  return launches;
}

struct OpSeconds {
  double forward = 0;
  double backward = 0;
};

/// Every chip sends `bytes` evenly to all others. Each byte crosses on average a quarter of a ring
/// or a third of a line, and the chips' links share the load.
double exchange_seconds(const Slice& slice, double bytes) {
  double hops = 0;
  double links = 0;
  for (std::int32_t axis = 0; axis < 3; ++axis) {
    const std::int32_t chips = slice.topology().at(static_cast<std::size_t>(axis));
    if (chips == 1) continue;
    hops += chips / (slice.wraps_around(axis) ? 4.0 : 3.0);
    links += 2;
  }
  return links == 0 ? 0 : bytes * hops / (links * slice.chip().ici_gb_per_s_link * 1e9);
}

OpSeconds gather_seconds(const Replica& replica, const Slice& slice, const ModelOp& op,
                         std::int64_t examples, std::int64_t value_bytes) {
  // A row is read in whole lanes of float32, and handed on in the precision of the step.
  const double rows = static_cast<double>(examples * op.rows);
  const double read = rows * static_cast<double>(round_up(op.n, kLanes) * kFloat32Bytes);
  const double handed_on = rows * static_cast<double>(op.n * value_bytes);
  double exchange = 0;
  if (op.is_sharded) exchange = exchange_seconds(slice, handed_on * slice.replicas_per_chip());
  const double overhead = replica.overhead_seconds() + exchange;
  return {.forward = replica.hbm_seconds(read + handed_on) + overhead,
          .backward = replica.hbm_seconds(handed_on + 2 * read) + overhead};
}

OpSeconds op_seconds(const Replica& replica, const Slice& slice, const ModelOp& op,
                     std::int64_t examples, Precision precision) {
  const std::int64_t value_bytes = bytes_of_activation(precision);
  if (op.kind == OpKind::gather) return gather_seconds(replica, slice, op, examples, value_bytes);
  const double input = static_cast<double>(examples * op.input_elements * value_bytes);
  const double output = static_cast<double>(examples * op.output_elements() * value_bytes);
  const double passes = replica.hbm_seconds(output * op.activation_passes) / 2;
  if (op.rows == 0) {
    const double overhead = replica.overhead_seconds() + passes;
    const double read_again = op.kind == OpKind::normalisation ? input : 0;
    return {.forward = replica.hbm_seconds(input + output) + overhead,
            .backward = replica.hbm_seconds(output + input + read_again) + overhead};
  }
  const std::int64_t m = examples * op.rows;
  const double weights = static_cast<double>(op.k * op.n * value_bytes);
  const auto product_seconds = [&](const Gemm& gemm, double bytes) {
    return op.kind == OpKind::depthwise ? replica.vector_seconds(gemm.m * gemm.n * gemm.k, bytes)
                                        : replica.seconds(gemm, bytes);
  };
  OpSeconds seconds{
      .forward = product_seconds({.m = m, .n = op.n, .k = op.k}, input + weights + output) + passes,
      .backward =
          product_seconds({.m = op.k, .n = op.n, .k = m},
                          output + input + static_cast<double>(op.k * op.n * kFloat32Bytes)) +
          passes};
  if (op.needs_input_gradient) {
    seconds.backward += product_seconds({.m = m, .n = op.k, .k = op.n}, output + weights + input);
  }
  return seconds;
}

/// Adds the exchange of synchronised norms: each channel's sum and sum of squares, and the count,
/// in the forward pass, and as many sums of gradients in the backward pass. A norm has a gain and
/// an offset a channel.
void add_norm_exchange(OpSeconds& seconds, const Slice& slice, const ModelOp& op) {
  if (op.kind != OpKind::normalisation) return;
  const double exchange =
      static_cast<double>(all_reduce_ps(slice, (op.parameters + 1) * kFloat32Bytes)) /
      detail::kPsPerSecond;
  seconds.forward += exchange;
  seconds.backward += exchange;
}

/// Gradients leave in buckets, the last layer's first.
class Buckets {
 public:
  explicit Buckets(const Slice& slice) : slice_(slice) {}

  void add(std::int64_t bytes, double ready_seconds) {
    bytes_ += bytes;
    if (bytes_ >= kBucketBytes) send(ready_seconds);
  }
  void send(double ready_seconds) {
    if (bytes_ == 0) return;
    const std::int64_t ps = all_reduce_ps(slice_, bytes_);
    end_ps_ = std::max(end_ps_, to_ps(ready_seconds)) + ps;
    sum_ps_ += ps;
    bytes_ = 0;
  }
  std::int64_t end_ps() const { return end_ps_; }
  std::int64_t sum_ps() const { return sum_ps_; }

 private:
  const Slice& slice_;
  std::int64_t bytes_ = 0;
  std::int64_t end_ps_ = 0;
  std::int64_t sum_ps_ = 0;
};

}  // namespace

std::int64_t SystolicArray::weight_stationary_cycles(const Gemm& gemm) const {
  check(gemm);
  return (2 * rows + columns + gemm.m - 2) * divide_up(gemm.k, rows) * divide_up(gemm.n, columns) -
         1;
}

std::int64_t SystolicArray::output_stationary_cycles(const Gemm& gemm) const {
  check(gemm);
  return (rows + columns + gemm.k - 2) * divide_up(gemm.m, rows) * divide_up(gemm.n, columns) - 1;
}

std::int64_t SystolicArray::input_stationary_cycles(const Gemm& gemm) const {
  check(gemm);
  return (2 * rows + columns + gemm.n - 2) * divide_up(gemm.k, rows) * divide_up(gemm.m, columns) -
         1;
}

std::int64_t mxu_cycles(const ChipSpec& chip, std::int32_t mxus, const Gemm& gemm) {
  check(gemm);
  const std::int64_t tiles = divide_up(gemm.k, chip.mxu_size) * divide_up(gemm.n, chip.mxu_size);
  // v6e does two multiply-adds a cell and cycle: half the cycles a row.
  const double cycles_a_row =
      static_cast<double>(chip.mxu_size) * chip.mxu_size / chip.macs_per_cycle_mxu;
  const double cycles_a_tile =
      std::max(static_cast<double>(round_up(gemm.m, kSublanes)) * cycles_a_row,
               static_cast<double>(chip.mxu_size));  // the time to load the next weights
  const double cycles = static_cast<double>(tiles) * cycles_a_tile / mxus;
  return std::llround(std::ceil(cycles)) + kMxuFillCycles;
}

std::int64_t all_reduce_ps(const Slice& slice, std::int64_t bytes) {
  double gb_per_s = 0;
  std::int64_t latency_ps = 0;
  double chips_of_slice = 1;
  for (std::int32_t axis = 0; axis < 3; ++axis) {
    const std::int32_t chips = slice.topology()[static_cast<std::size_t>(axis)];
    if (chips == 1) continue;
    chips_of_slice *= chips;
    const bool wraps = slice.wraps_around(axis);
    gb_per_s += slice.chip().ici_gb_per_s_link * (wraps ? 2 : 1);
    latency_ps += chips * detail::kHopPs * (wraps ? 1 : 2);
  }
  if (gb_per_s == 0) return 0;
  const double moved = 2 * static_cast<double>(bytes) * (chips_of_slice - 1) / chips_of_slice;
  return std::max(to_ps(moved / (gb_per_s * 1e9)), latency_ps);
}

std::int64_t transfer_ps(const ChipSpec& chip, std::int64_t bytes_of_chip) {
  return to_ps(static_cast<double>(bytes_of_chip) / (chip.host_gb_per_s * 1e9));
}

std::int64_t Workload::parameters() const {
  std::int64_t sum = 0;
  for (const ModelOp& op : ops) sum += op.parameters;
  return sum;
}

std::int64_t Workload::sharded_parameters() const {
  std::int64_t sum = 0;
  for (const ModelOp& op : ops) sum += op.is_sharded ? op.parameters : 0;
  return sum;
}

std::int64_t Workload::macs() const {
  std::int64_t sum = 0;
  for (const ModelOp& op : ops) sum += op.kind == OpKind::gather ? 0 : op.rows * op.k * op.n;
  return sum;
}

std::int64_t Workload::input_bytes(Precision precision) const {
  if (ops.empty()) return 0;
  const ModelOp& first = ops.front();
  if (first.kind == OpKind::gather) return first.rows * kIndexBytes;
  return first.input_elements * bytes_of_activation(precision);
}

std::string_view to_string(OpKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {
      "product", "batched product", "elementwise", "normalisation", "gather", "depthwise"};
  return kNames.at(static_cast<std::size_t>(kind));
}

double model_flop_utilisation(const Workload& workload, const Slice& slice, double examples_per_s) {
  // A multiply-add is two operations; the backward pass is two products of the forward one's size.
  constexpr double kFlopsPerMac = 2;
  constexpr double kPasses = 3;
  const double flops = kFlopsPerMac * kPasses * static_cast<double>(workload.macs());
  return flops * examples_per_s / (slice.num_chips() * slice.chip().bf16_tflops * 1e12);
}

std::int64_t compilation_ps(const Workload& workload) {
  constexpr double kSeconds = 2;
  constexpr double kSecondsAnOp = 0.05;
  return to_ps(kSeconds + kSecondsAnOp * static_cast<double>(workload.ops.size()));
}

StepTime step_time(const Workload& workload, const Slice& slice, std::int64_t global_batch,
                   const StepOptions& options) {
  return step_time(workload, slice, global_batch, options, calibration(slice.chip().generation));
}

StepTime step_time(const Workload& whole, const Slice& slice, std::int64_t global_batch,
                   const StepOptions& options, const Calibration& calibration) {
  if (global_batch <= 0) {
    detail::refuse("a global batch of {} examples; at least 1 is needed", global_batch);
  }
  if (options.steps_per_execution < 1 || options.batches_per_update < 1) {
    detail::refuse("{} steps an execution and {} batches an update; at least 1 of each is needed",
                   options.steps_per_execution, options.batches_per_update);
  }
  const Replica replica{.chip = slice.chip(), .calibration = calibration};
  const std::int32_t devices = options.devices_of_replica;
  const std::int32_t replicas = slice.num_replicas(devices);
  const std::int64_t examples = divide_up(global_batch, replicas);
  const Workload workload = split_workload(whole, devices);
  const auto exchange_seconds_of = [&](std::int64_t values) {
    const std::int64_t bytes = examples * values * bytes_of_activation(options.precision);
    return static_cast<double>(exchange_ps(slice.chip(), devices, bytes)) / detail::kPsPerSecond;
  };
  std::vector<OpSeconds> ops;
  double seconds = 0;
  for (const ModelOp& op : workload.ops) {
    ops.push_back(op_seconds(replica, slice, op, examples, options.precision));
    if (replicas > 1 && options.synchronised) add_norm_exchange(ops.back(), slice, op);
    seconds += ops.back().forward + exchange_seconds_of(op.exchanged_forward);
  }
  const std::int64_t copied = workload.parameters() - workload.sharded_parameters();
  Buckets buckets(slice);
  for (std::size_t i = ops.size(); i-- > 0;) {
    const ModelOp& op = workload.ops[i];
    seconds += ops[i].backward + exchange_seconds_of(op.exchanged_backward);
    if (calibration.overlaps_all_reduce && !op.is_sharded) {
      buckets.add(op.parameters * kFloat32Bytes, seconds);
    }
  }
  buckets.send(seconds);
  StepTime time;
  if (calibration.overlaps_all_reduce) {
    time.all_reduce_ps = std::max<std::int64_t>(0, buckets.end_ps() - to_ps(seconds));
    time.hidden_all_reduce_ps = std::max<std::int64_t>(0, buckets.sum_ps() - time.all_reduce_ps);
  } else {
    time.all_reduce_ps = all_reduce_ps(slice, copied * kFloat32Bytes);
  }
  // If one replica is spread over all devices, there are no other gradients to add.
  if (replicas == 1) time.all_reduce_ps = time.hidden_all_reduce_ps = 0;
  // Only the rows of a table that were read change; the gather's backward pass has counted them.
  seconds += replica.hbm_seconds(static_cast<double>(copied * update_bytes(options.optimizer))) /
             options.batches_per_update;
  time.all_reduce_ps /= options.batches_per_update;
  time.hidden_all_reduce_ps /= options.batches_per_update;
  const double launch =
      options.launches_operations
          ? kOperationLaunchSeconds * launches_of(workload)
          : static_cast<double>(calibration.step_overhead_ns) * 1e-9 / options.steps_per_execution;
  time.launch_ps = to_ps(launch);
  time.compute_ps = to_ps(seconds + launch);
  return time;
}

}  // namespace infeed
