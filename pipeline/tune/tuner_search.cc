#include <algorithm>
#include <cmath>
#include <utility>

#include "tune/tuner.h"
#include "tune/tuning_windows.h"

// Which setting would be the best.
namespace infeed::detail {
namespace {

// Workers for the spread of what elements take.
constexpr double kHeadroom = 1.1;
constexpr double kBest = 0.995;
// Threads that wait need no core of their own.
constexpr double kComputes = 0.1;
// A rate that is as good, without a thread. Among others that want the cores, a thread takes from
// its own process, too.
constexpr double kBestAmongOthers = 0.9;
// Elements that cost so little: what it costs to hand them over is as much, and the model doesn't know
// it. Among others the serial form is then tried for so much of what there is by the model.
constexpr double kTinyElementsPerSecond = 1e6;
constexpr double kSerialAmongOthers = 0.75;
// A thread that was taken away has its core back in less than that.
constexpr double kMostlyBlocked = 0.6;
// A buffer is of use where what fills it comes in bursts: deviation over mean, of windows.
constexpr double kBurst = 0.5;
constexpr double kBurstNs = 10e6;
// A thread's wait for a core among others that want it is no burst.
constexpr double kBurstAmongOthersNs = 100e6;
constexpr double kBurstWindows = 8;
constexpr int kIdleBufferWindows = 5;

/// As many as can run at once, where workers compute.
std::int64_t most_workers(const KnobState& knob, double cores) {
  if (knob.waits || knob.shape == KnobShape::driver || knob.shape == KnobShape::inner) {
    return knob.max;
  }
  const auto useful = static_cast<std::int64_t>(std::max(1.0, std::ceil(cores - 0.25)));
  return std::clamp(useful, knob.min, knob.max);
}

}  // namespace

/// Returns true if the values were tried in this phase and gave no more than there is now.
bool Tuner::has_failed(const Values& values) const {
  const double now = model_.measured_rate();
  return std::any_of(failed_.begin(), failed_.end(), [&](const Known& known) {
    return known.values == values && (known.saved || known.rate <= 1.03 * now);
  });
}

void Tuner::note_bursts(const TuningObservation& window) {
  bursts_.resize(window.stages.size());
  const double part = 1e9 / static_cast<double>(window.window_ns);
  for (std::size_t i = 0; i < bursts_.size(); ++i) {
    const double blocked_ns = static_cast<double>(window.stages[i].blocked_ns) * part;
    bursts_[i].sum += blocked_ns;
    bursts_[i].squares += blocked_ns * blocked_ns;
  }
}

/// Whether any stage waits for long now and then, rather than all the time.
bool Tuner::comes_in_bursts(const TuningObservation& seen) const {
  if (windows_ < kBurstWindows) return true;  // nobody knows yet
  const double burst_ns = others_want_cores(seen) ? kBurstAmongOthersNs : kBurstNs;
  return std::any_of(bursts_.begin(), bursts_.end(), [&](const Bursts& stage) {
    const double mean = stage.sum / windows_;
    const double variance = stage.squares / windows_ - mean * mean;
    return mean > burst_ns && variance > kBurst * kBurst * mean * mean;
  });
}

/// At the best rate that is possible; where elements differ, with some to spare.
Tuner::Values Tuner::fewest_workers(const TuningObservation& seen) const {
  const double cores = cores_for(seen);
  Values values = values_of(seen);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind == KnobKind::workers) values[i] = std::max(values[i], most_workers(knob, cores));
    if (knob.kind == KnobKind::workers && values[i] > most_workers(knob, cores)) {
      values[i] = most_workers(knob, cores);
    }
  }
  const double most = model_.forecast(seen, values, kHeadroom).rate;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind != KnobKind::workers) continue;
    const std::int64_t workers = values[i];
    values[i] = std::min(workers, std::max<std::int64_t>(1, knob.min));
    while (values[i] < workers && model_.forecast(seen, values, kHeadroom).rate < kBest * most) {
      ++values[i];
    }
  }
  for (std::size_t i = values.size(); i-- > 0;) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind != KnobKind::workers || knob.min > 0 || values[i] == 0) continue;
    if (knob.shape == KnobShape::driver && comes_in_bursts(seen)) continue;
    const std::int64_t some = std::exchange(values[i], 0);
    const double near = others_want_cores(seen) && !knob.waits ? kBestAmongOthers : kBest;
    if (model_.forecast(seen, values, kHeadroom).rate < near * most) values[i] = some;
  }
  return values;
}

/// One thread for each core, where all cores are the limit and the stages divide so evenly. Workers to
/// spare have no core to run on then, and take it from the others: with two stages of 100 us on two
/// cores two threads have 1.02 of what five have.
std::optional<Tuner::Values> Tuner::with_own_cores(const TuningObservation& seen,
                                                   const Values& workers) const {
  const bool computes = model_.blocked_share() < kComputes && !others_want_cores(seen);
  const auto most = model_.forecast(seen, workers);
  if (!computes || most.stage != PipelineModel::kCores) return std::nullopt;
  Values values = workers;
  while (true) {
    Values best;
    double best_rate = kSavingForetoldOnOwnCores * most.rate;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const KnobState& knob = seen.knobs[i];
      if (knob.kind != KnobKind::workers || values[i] <= knob.min) continue;
      Values fewer = values;
      --fewer[i];
      const double rate = model_.forecast(seen, fewer).rate;
      if (rate < best_rate) continue;
      best_rate = rate;
      best = std::move(fewer);
    }
    if (best.empty()) break;
    values = std::move(best);
  }
  const auto threads = static_cast<double>(workers_in(seen, values)) + 1;  // and the consumer's
  if (threads > cores_for(seen) || has_failed(values)) return std::nullopt;
  return values;
}

/// Everything in the consumer's thread, where threads turn out slower than that would be: on a busy
/// machine, and with elements that cost less than to hand them over.
std::optional<Tuner::Values> Tuner::serial_instead(const TuningObservation& seen) const {
  Values values = values_of(seen);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind != KnobKind::workers) continue;
    if (knob.waits) return std::nullopt;
    values[i] = knob.min;
  }
  if (values == values_of(seen)) return std::nullopt;
  if (model_.blocked_share() > kMostlyBlocked) return std::nullopt;
  const double rate = model_.measured_rate();
  const bool may_be = others_want_cores(seen) && rate > kTinyElementsPerSecond;
  const double promised = may_be ? kSerialAmongOthers : kWorthAChange;
  if (model_.serial_rate(seen) < promised * rate) return std::nullopt;
  return values;
}

/// Leaves a quarter of a buffer that was never below a half: it only serves the spread.
void Tuner::shrink_buffers(const TuningObservation& seen, Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind != KnobKind::depth) continue;
    int& idle = idle_buffers_[knob.id];
    std::int64_t& shrunk_to = shrunk_to_[knob.id];
    if (shrunk_to != 0 && knob.value > shrunk_to) continue;  // it has grown again: it was needed
    idle = 2 * knob.low > knob.value ? idle + 1 : 0;
    if (idle < kIdleBufferWindows || comes_in_bursts(seen)) continue;
    values[i] = std::clamp(knob.value / 4, knob.min, knob.max);
    if (values[i] == knob.value) continue;
    idle = 0;
    shrunk_to = values[i];
  }
}

}  // namespace infeed::detail
