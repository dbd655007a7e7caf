#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>

#include "tune/tuner.h"
#include "tune/tuning_text.h"
#include "tune/tuning_windows.h"

// The text that one run leaves to the next: a line for the machine, one a stage's time, one a
// knob.
//
//     infeed tuning 1
//     cores 2
//     time 20134.5 map 'augment'
//     workers 4 map 'augment'
//     depth 65536 prefetch
//     cache 1 optional_cache
namespace infeed::detail {
namespace {

constexpr std::string_view kFirstLine = "infeed tuning 1";
constexpr double kAnotherTime = 2;
// The first elements may take longer than those behind them.
constexpr int kProfileWindows = 3;
constexpr double kNumberMax = 1e15;

}  // namespace

Tuner::Tuner(const std::string& profile, bool only_advises)
    : profile_(profile), only_advises_(only_advises) {}

/// The settings that it names; false where there is no profile.
bool Tuner::start_from_profile(const TuningObservation& seen, TuningDecision& decision) {
  if (profile_.empty()) return false;
  std::istringstream lines(profile_);
  std::string line;
  std::getline(lines, line);
  if (line != kFirstLine) {
    decision.notes.push_back("the profile is none of this version's; it is left aside");
    return false;
  }
  before_profile_ = values_of(seen);
  std::size_t unknown = 0;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string what;
    double number = 0;
    std::string label;
    if (!(words >> what >> number) || !(std::abs(number) < kNumberMax)) continue;
    std::getline(words >> std::ws, label);
    if (what == "cores") {
      if (std::abs(number - seen.cores) < 0.1) continue;
      decision.notes.push_back(fmt::format(
          "the profile is of a machine with {:.3g} cores, and there are {:.3g}: it is left aside",
          number, seen.cores));
      decision.settings.clear();
      profile_ns_.clear();
      return false;
    }
    if (what == "time") {
      profile_ns_[label] = number;
      continue;
    }
    bool is_known = false;
    for (const KnobState& knob : seen.knobs) {
      if (name_of(knob.kind) != what ||
          seen.stages[static_cast<std::size_t>(knob.stage)].label != label) {
        continue;
      }
      is_known = true;
      decision.settings.push_back({knob.id, static_cast<std::int64_t>(number)});
    }
    unknown += is_known ? 0 : 1;
  }
  if (unknown != 0) {
    decision.notes.push_back(
        fmt::format("the profile names {} knobs that this pipeline hasn't", unknown));
  }
  return true;
}

/// True while it is looked at whether the stages take as long as they did. Where one doesn't, what
/// the profile has set goes back to what it was: it was found out for other work.
bool Tuner::checks_profile(const TuningObservation& seen, TuningDecision& decision) {
  if (profile_ns_.empty()) return false;
  if (windows_ < kProfileWindows) return true;
  bool is_stale = false;
  for (std::size_t i = 0; i < seen.stages.size(); ++i) {
    const auto known = profile_ns_.find(seen.stages[i].label);
    if (known == profile_ns_.end()) continue;
    const double now_ns = model_.stage_calls_ns(static_cast<int>(i));
    // One whose workers have read ahead, or whose time nobody has sampled yet, says nothing.
    if (now_ns < 1) continue;
    if (now_ns < kAnotherTime * known->second && known->second < kAnotherTime * now_ns) continue;
    if (std::max(now_ns, known->second) < 1000) continue;
    is_stale = true;
    decision.notes.push_back(
        fmt::format("the profile is stale and dropped: {} takes {} an element now ({} then)",
                    seen.stages[i].label, time_text(now_ns), time_text(known->second)));
  }
  profile_ns_.clear();
  if (!is_stale || before_profile_.size() != seen.knobs.size()) return false;
  apply(seen, before_profile_, decision);
  begin_phase();
  return true;
}

std::string Tuner::profile_text(const TuningObservation& seen) const {
  std::string text = fmt::format("{}\ncores {:.3g}\n", kFirstLine, seen.cores);
  for (std::size_t i = 0; i < seen.stages.size(); ++i) {
    const double ns = model_.stage_calls_ns(static_cast<int>(i));
    if (ns >= 1) text += fmt::format("time {:.1f} {}\n", ns, seen.stages[i].label);
  }
  for (const KnobState& knob : seen.knobs) {
    if (knob.min == knob.max) continue;
    text += fmt::format("{} {} {}\n", name_of(knob.kind), knob.value,
                        seen.stages[static_cast<std::size_t>(knob.stage)].label);
  }
  return text;
}

}  // namespace infeed::detail

namespace infeed {

std::shared_ptr<TuningPolicy> make_tuner(const std::string& profile, bool only_advises) {
  return std::make_shared<detail::Tuner>(profile, only_advises);
}

}  // namespace infeed
