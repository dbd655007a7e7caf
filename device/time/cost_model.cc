#include "infeed/device/cost_model.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <infeed/error.h>

namespace infeed {
namespace {

constexpr std::int64_t kMxuFillCycles = 256;
constexpr std::int64_t kMxuRowsMin = 128;  // a tile's weights take as long to load
constexpr std::int64_t kSublanes = 8;
constexpr double kPicosecondsPerSecond = 1e12;
constexpr std::int64_t kHopPs = 1'000'000;  // 1 us a chip along each axis
constexpr std::int64_t kBfloat16Bytes = 2;
constexpr std::int64_t kFloat32Bytes = 4;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

std::int64_t to_ps(double seconds) { return std::llround(seconds * kPicosecondsPerSecond); }

void check(const Gemm& gemm) {
  if (gemm.m <= 0 || gemm.n <= 0 || gemm.k <= 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a product of [{},{}] by [{},{}]: every size must be at least 1",
                            gemm.m, gemm.k, gemm.k, gemm.n));
  }
}

// The part of a chip that one replica owns.
struct Replica {
  const ChipSpec& chip;
  const Calibration& calibration;

  double share() const { return chip.replica_is_core ? 1.0 / chip.cores : 1.0; }
  std::int32_t mxus() const { return chip.mxus_per_core * (chip.replica_is_core ? 1 : chip.cores); }
  double hbm_seconds(double bytes) const {
    return bytes / (chip.hbm_gb_per_s * 1e9 * share() * calibration.hbm_efficiency);
  }
  double overhead_seconds() const { return static_cast<double>(calibration.op_overhead_ns) * 1e-9; }

  /// One fused operation: the longer of arithmetic and traffic.
  double seconds(const Gemm& gemm, double bytes) const {
    const double cycles = static_cast<double>(mxu_cycles(chip, mxus(), gemm));
    const double arithmetic = cycles / (chip.clock_ghz * 1e9 * calibration.mxu_efficiency);
    return std::max(arithmetic, hbm_seconds(bytes)) + overhead_seconds();
  }
};

double op_seconds(const Replica& replica, const ModelOp& op, std::int64_t examples) {
  if (op.rows == 0 || examples == 0) return 0;
  const std::int64_t m = examples * op.rows;
  const double input = static_cast<double>(examples * op.input_elements * kBfloat16Bytes);
  const double output = static_cast<double>(m * op.n * kBfloat16Bytes);
  const double weights = static_cast<double>(op.k * op.n * kBfloat16Bytes);
  double seconds = replica.seconds({.m = m, .n = op.n, .k = op.k}, input + weights + output);
  if (op.needs_input_gradient) {
    seconds += replica.seconds({.m = m, .n = op.k, .k = op.n}, output + weights + input);
  }
  seconds += replica.seconds({.m = op.k, .n = op.n, .k = m},
                             output + input + static_cast<double>(op.k * op.n * kFloat32Bytes));
  return seconds + replica.hbm_seconds(output * op.activation_passes);
}

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
  const std::int64_t rows = std::max(round_up(gemm.m, kSublanes), kMxuRowsMin);
  // v6e is stored with two multiply-adds a cell and cycle: half the cycles a row.
  const double cycles_a_row =
      static_cast<double>(chip.mxu_size) * chip.mxu_size / chip.macs_per_cycle_mxu;
  const double cycles = static_cast<double>(tiles * rows) * cycles_a_row / mxus;
  return std::llround(std::ceil(cycles)) + kMxuFillCycles;
}

std::int64_t all_reduce_ps(const Slice& slice, std::int64_t bytes) {
  std::int64_t axes = 0;
  std::int64_t hops = 0;
  bool wraps = true;
  for (std::int32_t axis = 0; axis < 3; ++axis) {
    const std::int32_t chips = slice.topology()[static_cast<std::size_t>(axis)];
    if (chips == 1) continue;
    ++axes;
    hops += chips;
    wraps = wraps && slice.wraps_around(axis);
  }
  if (axes == 0) return 0;
  const double link = 2 * slice.chip().ici_gb_per_s_link * 1e9;
  const std::int64_t moved =
      to_ps(2 * static_cast<double>(bytes) / (static_cast<double>(axes) * link));
  return std::max(moved, hops * kHopPs) * (wraps ? 1 : 2);
}

std::int64_t transfer_ps(const ChipSpec& chip, std::int64_t bytes_of_chip) {
  return to_ps(static_cast<double>(bytes_of_chip) / (chip.host_gb_per_s * 1e9));
}

std::int64_t Workload::parameters() const {
  std::int64_t sum = 0;
  for (const ModelOp& op : ops) sum += op.parameters;
  return sum;
}

std::int64_t Workload::macs() const {
  std::int64_t sum = 0;
  for (const ModelOp& op : ops) sum += op.rows * op.k * op.n;
  return sum;
}

StepTime step_time(const Workload& workload, const Slice& slice, std::int64_t global_batch) {
  return step_time(workload, slice, global_batch, calibration(slice.chip().generation));
}

StepTime step_time(const Workload& workload, const Slice& slice, std::int64_t global_batch,
                   const Calibration& calibration) {
  if (global_batch <= 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a global batch of {} examples; at least 1 is needed", global_batch));
  }
  const Replica replica{.chip = slice.chip(), .calibration = calibration};
  const std::int64_t examples = divide_up(global_batch, slice.num_replicas());
  double seconds = static_cast<double>(calibration.step_overhead_ns) * 1e-9;
  for (const ModelOp& op : workload.ops) seconds += op_seconds(replica, op, examples);
  seconds += replica.hbm_seconds(static_cast<double>(workload.parameters()) *
                                 calibration.optimizer_bytes_per_parameter);
  return {.compute_ps = to_ps(seconds),
          .all_reduce_ps = all_reduce_ps(slice, workload.parameters() * kFloat32Bytes)};
}

}  // namespace infeed
