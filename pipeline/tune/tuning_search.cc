#include "tune/tuning_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace infeed::detail {
namespace {

constexpr double kBest = 0.995;
// Threads that wait for less than this share compute, and need a core of their own.
constexpr double kComputes = 0.1;
// The share of the best rate at which a stage does without a thread. Where other processes want the
// cores, a thread takes its core from its own process, too.
constexpr double kBestAmongOthers = 0.9;
// Elements that come more quickly than this cost no more than their hand-over, which the model
// doesn't know. While others want the cores, one thread is then tried if the model promises it this
// share of the present rate.
constexpr double kTinyElementsPerSecond = 1e6;
constexpr double kSerialAmongOthers = 0.75;
// Waiting for more than this share isn't waiting for a core: a thread gets its core back sooner.
constexpr double kMostlyBlocked = 0.6;
constexpr int kIdleBufferWindows = 5;
// Less work than this for an element of the consumer is none.
constexpr double kMovedNs = 100;
// A consumer that works for less than this share of its time needs no core of its own.
constexpr double kConsumerWorks = 0.1;

/// Returns as many workers as can run at once if they compute, else the knob's maximum.
std::int64_t most_workers(const KnobState& knob, double cores) {
  if (knob.waits || knob.shape == KnobShape::driver || knob.shape == KnobShape::inner) {
    return knob.max;
  }
  const auto useful = static_cast<std::int64_t>(std::max(1.0, std::ceil(cores - 0.25)));
  return std::clamp(useful, knob.min, knob.max);
}

}  // namespace

KnobValues fewest_workers(const PipelineModel& model, const TuningObservation& seen,
                          double headroom) {
  const double cores = cores_for(seen);
  KnobValues values = values_of(seen);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind == KnobKind::workers) values[i] = most_workers(knob, cores);
  }
  const auto most = model.forecast(seen, values, headroom);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind != KnobKind::workers) continue;
    const std::int64_t workers = values[i];
    values[i] = std::min(workers, std::max<std::int64_t>(1, knob.min));
    while (values[i] < workers && model.forecast(seen, values, headroom).rate < kBest * most.rate) {
      ++values[i];
    }
  }
  for (std::size_t i = values.size(); i-- > 0;) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind != KnobKind::workers || knob.min > 0 || values[i] == 0) continue;
    if (knob.shape == KnobShape::driver) continue;
    const std::int64_t some = std::exchange(values[i], 0);
    const double near = others_want_cores(seen) && !knob.waits ? kBestAmongOthers : kBest;
    const auto without = model.forecast(seen, values, headroom);
    if (without.rate < near * most.rate || without.consumer_ns > kMovedNs + most.consumer_ns)
      values[i] = some;
  }
  return values;
}

std::optional<KnobValues> with_own_cores(const PipelineModel& model, const TuningObservation& seen,
                                         const KnobValues& workers) {
  const bool computes = model.blocked_share() < kComputes && !others_want_cores(seen);
  const auto most = model.forecast(seen, workers);
  if (!computes || most.stage != PipelineModel::kCores) return std::nullopt;
  KnobValues values = workers;
  while (true) {
    KnobValues best;
    double best_rate = kSavingForetoldOnOwnCores * most.rate;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const KnobState& knob = seen.knobs[i];
      const std::int64_t least = knob.shape == KnobShape::driver ? 1 : knob.min;
      if (knob.kind != KnobKind::workers || values[i] <= least) continue;
      KnobValues fewer = values;
      --fewer[i];
      const auto forecast = model.forecast(seen, fewer);
      if (forecast.rate < best_rate || forecast.consumer_ns > kMovedNs + most.consumer_ns) continue;
      best_rate = forecast.rate;
      best = std::move(fewer);
    }
    if (best.empty()) break;
    values = std::move(best);
  }
  const double own_threads = most.consumer_ns * most.rate / 1e9 > kConsumerWorks ? 1 : 0;
  const double threads = static_cast<double>(workers_in(seen, values)) + own_threads;
  if (threads > cores_for(seen)) return std::nullopt;
  return values;
}

std::optional<KnobValues> serial_instead(const PipelineModel& model, const TuningObservation& seen,
                                         double worth) {
  KnobValues values = values_of(seen);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind != KnobKind::workers) continue;
    if (knob.waits) return std::nullopt;
    values[i] = knob.min;
  }
  if (values == values_of(seen)) return std::nullopt;
  if (model.blocked_share() > kMostlyBlocked) return std::nullopt;
  const double rate = model.measured_rate();
  const bool may_be = others_want_cores(seen) && rate > kTinyElementsPerSecond;
  const double promised = may_be ? kSerialAmongOthers : worth;
  if (model.serial_rate(seen) < promised * rate) return std::nullopt;
  return values;
}

KnobValues IdleBuffers::shrunk(const PipelineModel& model, const TuningObservation& seen) {
  KnobValues values = values_of(seen);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind != KnobKind::depth) continue;
    auto& [idle, shrunk_to] = buffers_[knob.id];
    if (shrunk_to != 0 && knob.value > shrunk_to) continue;  // it has grown again: it was needed
    idle = 2 * knob.low > knob.value ? idle + 1 : 0;
    if (idle < kIdleBufferWindows || model.comes_in_bursts(seen)) continue;
    values[i] = std::clamp(knob.value / 4, knob.min, knob.max);
    if (values[i] == knob.value) continue;
    idle = 0;
    shrunk_to = values[i];
  }
  return values;
}

}  // namespace infeed::detail
