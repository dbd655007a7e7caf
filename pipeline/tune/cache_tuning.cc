#include "tune/cache_tuning.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "tune/tuning_text.h"
#include "tune/tuning_windows.h"

namespace infeed::detail {
namespace {

// The gain in rate that a cache has to promise, and the gain of a cache nearer to the sources over
// one nearer to the consumer.
constexpr double kCacheWorthIt = 1.2;
constexpr double kCacheBetter = 1.03;
// The gain that a cache has to bring to be kept, and how long it is read before that is judged.
constexpr double kCacheKept = 1.05;
constexpr double kReadNs = 400e6;

// A new cache leaves one part in kLeft of the memory free for later needs. Memory is short where
// less than one part in kShort is free.
constexpr std::uint64_t kLeft = 4;
constexpr std::uint64_t kShort = 10;

/// True if one part in `left` of the memory stays free when `bytes` more are used.
bool has_room_for(const TuningObservation& seen, std::uint64_t bytes, std::uint64_t left) {
  const auto fits = [=](std::uint64_t used, std::uint64_t limit) {
    return limit == 0 || used + bytes <= limit - limit / left;
  };
  return fits(seen.memory_bytes, seen.memory_limit_bytes) &&
         fits(seen.group_bytes, seen.group_limit_bytes);
}

bool is_before(const TuningObservation& seen, std::size_t stage, int other) {
  int above = seen.stages[stage].consumer;
  while (above >= 0 && above != other)
    above = seen.stages[static_cast<std::size_t>(above)].consumer;
  return above == other;
}

}  // namespace

bool is_read_from_memory(const TuningObservation& seen, int stage) {
  if (seen.stages[static_cast<std::size_t>(stage)].elements == 0) return false;
  for (std::size_t i = 0; i < seen.stages.size(); ++i) {
    if (seen.stages[i].elements != 0 && is_before(seen, i, stage)) return false;
  }
  return true;
}

const KnobState* find_knob(const TuningObservation& seen, std::uint64_t id) {
  const auto found = std::find_if(seen.knobs.begin(), seen.knobs.end(),
                                  [id](const KnobState& knob) { return knob.id == id; });
  return found == seen.knobs.end() ? nullptr : &*found;
}

namespace {

/// The gain that a cache behind a stage promises.
struct CacheGain {
  int stage;
  std::uint64_t bytes;
  double rate_now;  ///< both by the model
  double rate_cached;
};

/// Returns the one of `stages` behind which a cache promises most. Nothing where no cache promises
/// enough, or none has room.
std::optional<CacheGain> best_cache(const PipelineModel& model, const TuningObservation& seen,
                                    const std::vector<int>& stages) {
  const KnobValues now = values_of(seen);
  const double modelled = model.forecast(seen, now).rate;
  std::optional<CacheGain> best;
  double needed = kCacheWorthIt * modelled;
  for (const int stage : stages) {
    const std::uint64_t bytes = seen.stages[static_cast<std::size_t>(stage)].pass_bytes;
    if (bytes == 0 || !has_room_for(seen, bytes, kLeft)) continue;
    const double rate = model.forecast_cached(seen, now, stage).rate;
    if (rate <= needed) continue;
    best = CacheGain{stage, bytes, modelled, rate};
    needed = kCacheBetter * rate;
  }
  return best;
}

/// Returns the time that the stages before a cache take for one element of the consumer.
double ns_before(const PipelineModel& model, const TuningObservation& seen, int stage) {
  double ns = 0;
  for (std::size_t i = 0; i < seen.stages.size(); ++i) {
    if (is_before(seen, i, stage)) ns += model.stage_ns(static_cast<int>(i));
  }
  return ns;
}

void give_up_caches(const TuningObservation& seen, TuningDecision& decision) {
  for (const KnobState& knob : seen.knobs) {
    if (knob.kind != KnobKind::cache || knob.value == 0 || knob.min != 0) continue;
    decision.settings.push_back({knob.id, 0});
    decision.notes.push_back(fmt::format("memory is short: {} keeps nothing from the next pass on",
                                         label_of(seen, knob)));
  }
}

}  // namespace

std::string cache_text(const PipelineModel& model, const TuningObservation& seen) {
  std::vector<int> stages(seen.stages.size());
  std::iota(stages.begin(), stages.end(), 0);
  const std::optional<CacheGain> best = best_cache(model, seen, stages);
  if (!best) return {};
  return fmt::format("; a cache() behind {} would give up to {} for about {}",
                     seen.stages[static_cast<std::size_t>(best->stage)].label,
                     change_text(best->rate_now, best->rate_cached), bytes_text(best->bytes));
}

bool CacheTuning::place(const PipelineModel& model, const TuningObservation& seen,
                        TuningDecision& decision) {
  if (caching_) return follow(seen, decision);
  if (!has_room_for(seen, 0, kShort)) {
    give_up_caches(seen, decision);
    return false;
  }
  std::map<int, const KnobState*> places;
  std::vector<int> stages;
  for (const KnobState& knob : seen.knobs) {
    const bool can_be = knob.kind == KnobKind::cache && knob.value == 0 && knob.max != 0;
    if (!can_be || useless_.contains(knob.id)) continue;
    places[knob.stage] = &knob;
    stages.push_back(knob.stage);
  }
  const std::optional<CacheGain> best = best_cache(model, seen, stages);
  if (!best) return false;
  const KnobState& knob = *places.at(best->stage);
  Caching caching;
  caching.knob = knob.id;
  caching.change.at_seconds = static_cast<double>(seen.at_ns) / 1e9;
  caching.change.knobs = {{label_of(seen, knob), KnobKind::cache, 0, 1}};
  caching.change.why =
      fmt::format("the stages before it take {} an element, and to keep a pass about {}",
                  time_text(ns_before(model, seen, best->stage)), bytes_text(best->bytes));
  caching.change.rate_before = model.measured_rate();
  caching.change.rate_predicted = caching.change.rate_before * best->rate_cached / best->rate_now;
  if (only_advises_) {
    caching.change.outcome = TuningChange::Outcome::advised;
    useless_.insert(knob.id);  // advised only once
    decision.finished.push_back(std::move(caching.change));
    return false;
  }
  decision.settings.push_back({knob.id, 1});
  caching_ = std::move(caching);
  return false;
}

/// Judges a cache by the time in which it was read. The pass that fills it doesn't count.
bool CacheTuning::follow(const TuningObservation& seen, TuningDecision& decision) {
  const KnobState* const knob = find_knob(seen, caching_->knob);
  if (knob == nullptr) return false;  // between two passes
  if (knob->max == 0) {
    decision.notes.push_back(
        fmt::format("there was no room for what {} was to keep", label_of(seen, *knob)));
    finish(TuningChange::Outcome::rolled_back, decision);
    return true;
  }
  // A setting that came between two passes was lost: set it again.
  if (knob->value == 0) decision.settings.push_back({knob->id, 1});
  if (!is_read_from_memory(seen, knob->stage)) return false;
  caching_->ns += static_cast<double>(seen.window_ns);
  caching_->elements += static_cast<double>(seen.elements);
  if (caching_->ns < kReadNs) return false;
  TuningChange& change = caching_->change;
  change.rate_after = caching_->elements * 1e9 / caching_->ns;
  const bool is_kept = change.rate_after >= kCacheKept * change.rate_before;
  if (!is_kept) decision.settings.push_back({knob->id, 0});
  finish(is_kept ? TuningChange::Outcome::kept : TuningChange::Outcome::rolled_back, decision);
  return true;
}

void CacheTuning::finish(TuningChange::Outcome outcome, TuningDecision& decision) {
  caching_->change.outcome = outcome;
  if (outcome != TuningChange::Outcome::kept) useless_.insert(caching_->knob);
  decision.finished.push_back(std::move(caching_->change));
  caching_.reset();
}

}  // namespace infeed::detail
