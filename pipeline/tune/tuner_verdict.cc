#include <algorithm>
#include <fmt/format.h>

#include "tune/tuner.h"
#include "tune/tuning_text.h"
#include "tune/tuning_windows.h"

// The words for what bounds the rate.
namespace infeed::detail {
namespace {

constexpr double kConsumerBoundWait = 0.1;

}  // namespace

/// Says what bounds the setting.
std::string Tuner::slowest_text(const TuningObservation& seen, const Values& values) const {
  const auto forecast = model_.forecast(seen, values);
  if (forecast.stage == PipelineModel::kCores) {
    return fmt::format("{} what bounds it", cores_text(cores_for(seen), seen.cores));
  }
  if (forecast.stage == PipelineModel::kConsumer) {
    return fmt::format("the consumer takes {} elements/s", rounded(model_.measured_rate()));
  }
  const StageObservation& stage = seen.stages[static_cast<std::size_t>(forecast.stage)];
  return fmt::format("{} is the slowest", stage.label);
}

std::string Tuner::verdict(const TuningObservation& seen) const {
  return bound_text(seen) + cache_text(seen);
}

/// Says what bounds the pipeline.
std::string Tuner::bound_text(const TuningObservation& seen) const {
  const Values now = values_of(seen);
  const double wait_share = static_cast<double>(seen.consumer_wait_ns) /
                            static_cast<double>(std::max<std::uint64_t>(1, seen.window_ns));
  const double rate = model_.measured_rate();
  if (wait_share < kConsumerBoundWait) {
    return fmt::format(
        "the consumer is slower than the pipeline, it takes {} elements/s: there is "
        "nothing to tune",
        rounded(rate));
  }
  const auto forecast = model_.forecast(seen, now);
  if (forecast.stage == PipelineModel::kCores) {
    return fmt::format("not tunable: {} busy, at most {} elements/s",
                       cores_text(cores_for(seen), seen.cores), rounded(forecast.rate));
  }
  const int slowest = slowest_serial_stage(seen);
  const double ns = slowest < 0 ? 0 : model_.stage_ns(slowest);
  if (slowest >= 0 && ns * forecast.rate > 0.6e9) {
    return fmt::format("not tunable: {} is serial at {} an element; at most {} elements/s",
                       seen.stages[static_cast<std::size_t>(slowest)].label,
                       time_text(model_.stage_calls_ns(slowest)), rounded(1e9 / ns));
  }
  if (forecast.stage >= 0) {
    for (const KnobState& knob : seen.knobs) {
      if (knob.stage != forecast.stage || knob.kind != KnobKind::workers) continue;
      if (knob.min == knob.max) {
        return fmt::format("{} is fixed at {} workers, which is what bounds it ({} elements/s)",
                           label_of(seen, knob), knob.value, rounded(rate));
      }
      if (knob.value == knob.max) {
        return fmt::format("{} has all {} workers that it may have ({} elements/s)",
                           label_of(seen, knob), knob.value, rounded(rate));
      }
    }
  }
  return fmt::format("{} elements/s: no other setting is expected to be better", rounded(rate));
}

/// Returns the slowest of those that no workers share, or -1.
int Tuner::slowest_serial_stage(const TuningObservation& seen) const {
  int slowest = -1;
  for (int i = 0; i < static_cast<int>(seen.stages.size()); ++i) {
    const auto has_workers = [i](const KnobState& knob) {
      return knob.stage == i && knob.kind == KnobKind::workers &&
             (knob.value > 1 || knob.max > knob.min);
    };
    if (seen.stages[static_cast<std::size_t>(i)].inside >= 0) continue;
    if (std::any_of(seen.knobs.begin(), seen.knobs.end(), has_workers)) continue;
    if (slowest < 0 || model_.stage_ns(i) > model_.stage_ns(slowest)) slowest = i;
  }
  return slowest;
}

}  // namespace infeed::detail
