#include "infeed/device/hbm_need.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include <infeed/device/split_workload.h>
#include <infeed/error.h>

#include "refuse.h"
#include "time/clock_units.h"

namespace infeed {
namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::size_t kLargestMax = 5;
constexpr double kGibibyte = 1024.0 * 1024 * 1024;
/// Four of them can be added. A batch that needs more fits nowhere.
constexpr std::int64_t kBytesMax = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t bytes_of(std::int64_t examples, std::int64_t bytes_of_example) {
  const bool is_less = bytes_of_example == 0 || examples <= kBytesMax / bytes_of_example;
  return is_less ? examples * bytes_of_example : kBytesMax;
}

void add_bytes(std::int64_t& sum, std::int64_t bytes) { sum = std::min(sum + bytes, kBytesMax); }

std::string gib_text(std::int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / kGibibyte);
}

}  // namespace

HbmNeed hbm_need(const Workload& workload, const Slice& slice, std::int64_t global_batch,
                 const StepOptions& options) {
  if (global_batch <= 0) {
    detail::refuse("a global batch of {} examples; at least 1 is needed", global_batch);
  }
  const std::int64_t replicas = slice.num_replicas(options.devices_of_replica);
  const std::int64_t examples = detail::divide_up(global_batch, replicas);
  HbmNeed need;
  // GB means 2^30 in the tables of Google's pages: v3 has 32 GiB a chip.
  need.available_bytes =
      static_cast<std::int64_t>(slice.chip().hbm_gb * kGibibyte) / slice.replicas_per_chip();
  std::vector<HbmTensor>& tensors = need.largest;
  for (const ModelOp& op : split_workload(workload, options.devices_of_replica).ops) {
    const std::int64_t kept = bytes_of(examples, op.kept_bytes(options.precision));
    add_bytes(need.activations_bytes, kept);
    tensors.push_back({op.name + " (activations)", kept});
    std::int64_t variables = op.parameters * kFloatBytes;
    if (op.is_sharded) variables = detail::divide_up(variables, slice.num_replicas());
    need.variables_bytes += variables;
    need.slots_bytes += variables * optimizer_slots(options.optimizer);
    // Only the rows of a table that were read have gradients: as many as activations, in float32.
    add_bytes(need.gradients_bytes,
              op.is_sharded ? bytes_of(examples, op.output_elements() * kFloatBytes) : variables);
    tensors.push_back({op.name + " (variables)", variables});
  }
  std::ranges::stable_sort(tensors, std::ranges::greater{}, &HbmTensor::bytes);
  tensors.resize(std::min(tensors.size(), kLargestMax));
  return need;
}

std::int64_t largest_batch(const Workload& workload, const Slice& slice,
                           const StepOptions& options) {
  const std::int64_t replicas = slice.num_replicas(options.devices_of_replica);
  const auto fits = [&](std::int64_t examples) {
    return hbm_need(workload, slice, examples * replicas, options).fits();
  };
  constexpr std::int64_t kExamplesMax = std::int64_t{1} << 24;
  std::int64_t low = 0;
  std::int64_t high = kExamplesMax;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low * replicas;
}

void check_hbm(const Workload& workload, const Slice& slice, std::int64_t global_batch,
               const StepOptions& options) {
  const HbmNeed need = hbm_need(workload, slice, global_batch, options);
  if (need.fits()) return;
  std::string largest;
  for (const HbmTensor& tensor : need.largest) {
    largest +=
        fmt::format("{}{} {}", largest.empty() ? "" : ", ", tensor.name, gib_text(tensor.bytes));
  }
  const bool is_float32 = options.precision == Precision::float32;
  const std::int64_t batch_max = largest_batch(workload, slice, options);
  throw Error(
      ErrorCode::resource_exhausted,
      fmt::format("{} with a global batch of {} needs {} of HBM a device, and {} has {}: variables "
                  "{}, gradients {}, slots of {} {}, activations {}; the largest: {}; {}",
                  workload.name, global_batch, gib_text(need.bytes()), slice.name(),
                  gib_text(need.available_bytes), gib_text(need.variables_bytes),
                  gib_text(need.gradients_bytes), to_string(options.optimizer),
                  gib_text(need.slots_bytes), gib_text(need.activations_bytes), largest,
                  batch_max > 0
                      ? fmt::format("use a global batch of at most {}{} a larger slice of as many "
                                    "examples{}",
                                    batch_max, is_float32 ? "," : " or",
                                    is_float32 ? ", or mixed_bfloat16" : "")
                      : "no batch fits: use a generation with more HBM, or an optimiser with fewer "
                        "slots"));
}

}  // namespace infeed
