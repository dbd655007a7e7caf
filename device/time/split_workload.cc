#include "infeed/device/split_workload.h"

#include <algorithm>

#include "refuse.h"
#include "time/clock_units.h"

namespace infeed {
namespace {

using detail::divide_up;

void split_by_columns(ModelOp& op, std::int32_t devices) {
  // Every device has the whole input, whose gradient is a sum over the devices.
  if (op.needs_input_gradient) op.exchanged_backward = op.rows * op.k;
  op.n = divide_up(op.n, devices);
  op.parameters = divide_up(op.parameters, devices);
}

void split_by_rows(ModelOp& op, std::int32_t devices) {
  op.exchanged_forward = op.rows * op.n;
  op.k = divide_up(op.k, devices);
  op.input_elements = divide_up(op.input_elements, devices);
  op.parameters = divide_up(op.parameters, devices);
}

/// Each output channel of a depthwise convolution reads one input channel. If every device has all
/// of them (`reads_all`), the gradient of the input is gathered, which costs half of a sum.
void split_by_channels(ModelOp& op, std::int32_t devices, bool reads_all) {
  if (reads_all && op.needs_input_gradient) op.exchanged_backward = divide_up(op.input_elements, 2);
  op.n = divide_up(op.n, devices);
  op.input_elements = divide_up(op.input_elements, devices);
  op.parameters = divide_up(op.parameters, devices);
}

void split_by_heads(ModelOp& op, std::int32_t devices) {
  op.rows = divide_up(op.rows, devices);
  op.input_elements = divide_up(op.input_elements, devices);
}

}  // namespace

Workload split_workload(const Workload& workload, std::int32_t devices) {
  if (devices < 1) {
    detail::refuse("{} split over {} devices; at least 1 is needed", workload.name, devices);
  }
  Workload part = workload;
  if (devices == 1) return part;
  ModelOp* open = nullptr;  // behind it each device has only its columns or channels
  for (ModelOp& op : part.ops) {
    if (op.kind == OpKind::batched_product) split_by_heads(op, devices);
    if (op.kind == OpKind::depthwise) {
      split_by_channels(op, devices, open == nullptr);
      open = &op;
    }
    if (op.kind != OpKind::product || op.rows == 0) continue;
    if (open == nullptr) {
      split_by_columns(op, devices);
      open = &op;
    } else {
      split_by_rows(op, devices);
      open = nullptr;
    }
  }
  if (open != nullptr) open->exchanged_forward = divide_up(open->rows * open->n * devices, 2);
  return part;
}

std::int64_t exchange_ps(const ChipSpec& chip, std::int32_t devices, std::int64_t bytes) {
  if (devices <= 1 || bytes == 0) return 0;
  const double moved = 2.0 * static_cast<double>(bytes);
  const std::int32_t on_a_chip = chip.replica_is_core ? std::min(devices, chip.cores) : 1;
  const std::int32_t chips = devices / on_a_chip;
  double seconds = 0;
  if (on_a_chip > 1) seconds += moved / (chip.hbm_gb_per_s * 1e9);
  std::int64_t hops_ps = 0;
  if (chips > 1) {
    // Neighbours in a line share one link; in a ring there are two ways.
    seconds += moved * (chips - 1) / chips / (chip.ici_gb_per_s_link * 1e9);
    hops_ps = 2 * chips * detail::kHopPs;
  }
  return std::max(detail::to_ps(seconds), hops_ps);
}

}  // namespace infeed
