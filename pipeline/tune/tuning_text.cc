#include "tune/tuning_text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "tune/tuning_windows.h"

namespace infeed {
namespace detail {

std::string rounded(double number) {
  if (number < 100) return fmt::format("{:.3g}", number);
  const double unit = std::pow(10, std::floor(std::log10(number)) - 2);
  std::string digits = fmt::format("{:.0f}", std::round(number / unit) * unit);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string bytes_text(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.3g} GB", number / 1e9);
  if (bytes >= 1'000'000) return fmt::format("{:.3g} MB", number / 1e6);
  return fmt::format("{:.3g} KB", number / 1e3);
}

std::string time_text(double ns) {
  if (ns >= 1e9) return fmt::format("{:.3g} s", ns / 1e9);
  if (ns >= 1e6) return fmt::format("{:.3g} ms", ns / 1e6);
  if (ns >= 1e3) return fmt::format("{:.3g} us", ns / 1e3);
  return fmt::format("{:.3g} ns", ns);
}

std::string cores_text(double cores, double all) {
  if (cores < 0.95 * all) return fmt::format("the {:.1f} cores that others leave are", cores);
  return cores == 1 ? std::string("the only core is") : fmt::format("all {:.3g} cores are", cores);
}

std::string_view name_of(KnobKind kind) {
  switch (kind) {
    case KnobKind::workers:
      return "workers";
    case KnobKind::depth:
      return "depth";
    case KnobKind::cache:
      return "cache";
  }
  return {};
}

std::string change_text(double from, double to) {
  if (from <= 0) return "+0 %";
  return fmt::format("{:+d} %", std::lround(100 * (to / from - 1)));
}

namespace {

constexpr double kConsumerBoundWait = 0.1;

/// Returns the slowest of the stages that no workers share, or -1.
int slowest_serial_stage(const PipelineModel& model, const TuningObservation& seen) {
  int slowest = -1;
  for (int i = 0; i < static_cast<int>(seen.stages.size()); ++i) {
    const auto has_workers = [i](const KnobState& knob) {
      return knob.stage == i && knob.kind == KnobKind::workers &&
             (knob.value > 1 || knob.max > knob.min);
    };
    if (seen.stages[static_cast<std::size_t>(i)].inside >= 0) continue;
    if (std::any_of(seen.knobs.begin(), seen.knobs.end(), has_workers)) continue;
    if (slowest < 0 || model.stage_ns(i) > model.stage_ns(slowest)) slowest = i;
  }
  return slowest;
}

}  // namespace

std::string slowest_text(const PipelineModel& model, const TuningObservation& seen,
                         std::span<const std::int64_t> values) {
  const auto forecast = model.forecast(seen, values);
  if (forecast.stage == PipelineModel::kCores) {
    return fmt::format("{} what bounds it", cores_text(cores_for(seen), seen.cores));
  }
  if (forecast.stage == PipelineModel::kConsumer) {
    return fmt::format("the consumer takes {} elements/s", rounded(model.measured_rate()));
  }
  const StageObservation& stage = seen.stages[static_cast<std::size_t>(forecast.stage)];
  return fmt::format("{} is the slowest", stage.label);
}

std::string bound_text(const PipelineModel& model, const TuningObservation& seen) {
  const KnobValues now = values_of(seen);
  const double wait_share = static_cast<double>(seen.consumer_wait_ns) /
                            static_cast<double>(std::max<std::uint64_t>(1, seen.window_ns));
  const double rate = model.measured_rate();
  if (wait_share < kConsumerBoundWait) {
    return fmt::format(
        "the consumer is slower than the pipeline, it takes {} elements/s: there is "
        "nothing to tune",
        rounded(rate));
  }
  const auto forecast = model.forecast(seen, now);
  if (forecast.stage == PipelineModel::kCores) {
    return fmt::format("not tunable: {} busy, at most {} elements/s",
                       cores_text(cores_for(seen), seen.cores), rounded(forecast.rate));
  }
  const int slowest = slowest_serial_stage(model, seen);
  const double ns = slowest < 0 ? 0 : model.stage_ns(slowest);
  if (slowest >= 0 && ns * forecast.rate > 0.6e9) {
    return fmt::format("not tunable: {} is serial at {} an element; at most {} elements/s",
                       seen.stages[static_cast<std::size_t>(slowest)].label,
                       time_text(model.stage_calls_ns(slowest)), rounded(1e9 / ns));
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

std::string turned_off_text(const TuningObservation& seen, const std::vector<std::int64_t>& first) {
  std::string stages;
  for (std::size_t i = 0; i < std::min(first.size(), seen.knobs.size()); ++i) {
    const KnobState& knob = seen.knobs[i];
    if (knob.kind != KnobKind::workers || knob.value != 0 || first[i] == 0) continue;
    stages += (stages.empty() ? "" : ", ") + label_of(seen, knob);
  }
  return stages.empty() ? "" : "; the tuner turned off the threads of " + stages;
}

namespace {

std::string value_text(KnobKind kind, std::int64_t value) {
  if (kind == KnobKind::cache) return value == 0 ? "off" : "on";
  return kind == KnobKind::workers && value == 0 ? "serial" : fmt::format("{}", value);
}

std::string outcome_text(const TuningChange& change) {
  using Outcome = TuningChange::Outcome;
  if (change.outcome == Outcome::advised) return "advised";
  if (change.outcome == Outcome::pending) return "under way";
  if (change.outcome == Outcome::overtaken) return "overtaken by the next";
  if (change.outcome == Outcome::rolled_back && change.rate_after == 0)
    return "not judged, as other processes came or went; rolled back";
  return fmt::format("got {}, {}", detail::change_text(change.rate_before, change.rate_after),
                     change.outcome == Outcome::kept ? "kept" : "rolled back");
}

}  // namespace
}  // namespace detail

std::string KnobChange::text() const {
  return fmt::format("{}{} {} -> {}", stage, kind == KnobKind::depth ? " depth" : "",
                     detail::value_text(kind, from), detail::value_text(kind, to));
}

std::string TuningChange::text() const {
  std::string what;
  for (const KnobChange& knob : knobs) what += (what.empty() ? "" : ", ") + knob.text();
  return fmt::format("{:5.1f} s  {}: {}; predicted {}, {}", at_seconds, what, why,
                     detail::change_text(rate_before, rate_predicted), detail::outcome_text(*this));
}

std::string TuningReport::text() const {
  std::string text;
  if (changes_dropped != 0) text += fmt::format("({} earlier changes)\n", changes_dropped);
  for (const TuningChange& change : changes) text += change.text() + "\n";
  for (const std::string& note : notes) text += note + "\n";
  return text + verdict + (verdict.empty() ? "" : "\n");
}

}  // namespace infeed
