#include "device/sweep_batch.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <infeed/device/hbm_need.h>
#include <infeed/device/optimizers.h>

#include "cli/terminal.h"

namespace infeed::tools {
namespace {

constexpr std::int64_t kExamplesOfReplicaMax = 65'536;
constexpr double kCurveWidth = 40;

}  // namespace

std::vector<SweptBatch> sweep_batch(const Workload& workload, const Slice& slice,
                                    const SweepOptions& options) {
  constexpr double kPsOfMillisecond = 1e9;
  constexpr double kMsOfSecond = 1e3;
  constexpr double kBytesOfGib = 1024.0 * 1024 * 1024;
  std::vector<SweptBatch> batches;
  for (std::int64_t examples = 1; examples <= kExamplesOfReplicaMax; examples *= 2) {
    const std::int64_t batch = examples * slice.num_replicas(options.step.devices_of_replica);
    const HbmNeed need = hbm_need(workload, slice, batch, options.step);
    const double ms =
        static_cast<double>(step_time(workload, slice, batch, options.step).total_ps()) /
        kPsOfMillisecond;
    const std::int64_t bytes_of_chip =
        examples * slice.replicas_per_chip() * workload.input_bytes(options.step.precision);
    const double transfer_ms =
        static_cast<double>(transfer_ps(slice.chip(), bytes_of_chip)) / kPsOfMillisecond;
    const auto rate_by = [&](nn::BatchRule rule) {
      return nn::scaled_rate({.base_rate = options.learning_rate,
                              .base_batch = options.learning_rate_batch,
                              .global_batch = batch,
                              .rule = rule});
    };
    batches.push_back(
        {.batch = batch,
         .examples_of_replica = examples,
         .step_ms = ms,
         .transfer_ms = transfer_ms,
         .examples_per_s = static_cast<double>(batch) * kMsOfSecond / std::max(ms, transfer_ms),
         .hbm_gib = static_cast<double>(need.bytes()) / kBytesOfGib,
         .fits = need.fits(),
         .learning_rate = rate_by(nn::BatchRule::linear),
         .learning_rate_by_root = rate_by(nn::BatchRule::root)});
    if (!need.fits()) break;
  }
  return batches;
}

void print_sweep(const std::vector<SweptBatch>& batches, StepOptimizer optimizer,
                 Terminal& terminal) {
  const bool is_by_root = nn::batch_rule(optimizer) == nn::BatchRule::root;
  double most = 0;
  for (const SweptBatch& swept : batches) most = std::max(most, swept.examples_per_s);
  terminal.line(fmt::format("{:>10} {:>9} {:>10} {:>11} {:>13} {:>9} {:>9}  {}", "batch",
                            "a replica", "step ms", "transfer ms", "examples/s", "HBM GiB", "rate",
                            "examples/s as a curve"));
  for (const SweptBatch& swept : batches) {
    const auto width =
        static_cast<std::size_t>(std::llround(kCurveWidth * swept.examples_per_s / most));
    terminal.line(fmt::format(
        "{:>10} {:>9} {:>10.3f} {:>11.3f} {:>13} {:>9.2f} {:>9.4g}  {}", with_commas(swept.batch),
        swept.examples_of_replica, swept.step_ms, swept.transfer_ms,
        with_commas(std::llround(swept.examples_per_s)), swept.hbm_gib,
        is_by_root ? swept.learning_rate_by_root : swept.learning_rate,
        !swept.fits ? "does not fit"
                    : std::string(width, '#') +
                          (swept.transfer_ms > swept.step_ms ? " bound by the hosts' links" : "")));
  }
}

nlohmann::ordered_json json_of(const std::vector<SweptBatch>& batches) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const SweptBatch& swept : batches) {
    rows.push_back({{"batch", swept.batch},
                    {"examples_of_replica", swept.examples_of_replica},
                    {"step_ms", swept.step_ms},
                    {"transfer_ms", swept.transfer_ms},
                    {"examples_per_s", swept.examples_per_s},
                    {"hbm_gib", swept.hbm_gib},
                    {"fits", swept.fits},
                    {"learning_rate", swept.learning_rate},
                    {"learning_rate_by_root", swept.learning_rate_by_root}});
  }
  return rows;
}

}  // namespace infeed::tools
