#include "tune/tuning_profile.h"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>
#include <utility>

#include <infeed/detail/format_version.h>

#include "tune/tuning_text.h"

namespace infeed::detail {
namespace {

constexpr std::string_view kName = "infeed tuning";
constexpr std::uint32_t kVersion = 1;
constexpr double kAnotherTime = 2;
// Windows before the check: the first elements may take longer than later ones.
constexpr int kProfileWindows = 3;
constexpr double kNumberMax = 1e15;

}  // namespace

bool TuningProfile::begin(const TuningObservation& seen, TuningDecision& decision) {
  if (text_.empty()) return false;
  std::istringstream lines(std::exchange(text_, {}));
  std::string line;
  std::getline(lines, line);
  if (const std::uint32_t version = format_version(line, kName); version != kVersion) {
    decision.notes.push_back(
        (version > kVersion ? later_format_text("the profile", version, kVersion)
                            : fmt::format("this is no profile: its first line is '{}'", line)) +
        "; it is left aside");
    return false;
  }
  before_ = values_of(seen);
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
      ns_.clear();
      return false;
    }
    if (what == "time") {
      ns_[label] = number;
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

TuningProfile::Check TuningProfile::check(const PipelineModel& model, const TuningObservation& seen,
                                          TuningDecision& decision) {
  if (ns_.empty()) return Check::done;
  if (model.windows() < kProfileWindows) return Check::under_way;
  bool is_stale = false;
  for (std::size_t i = 0; i < seen.stages.size(); ++i) {
    const auto known = ns_.find(seen.stages[i].label);
    if (known == ns_.end()) continue;
    const double now_ns = model.stage_calls_ns(static_cast<int>(i));
    // A stage says nothing if its workers have read ahead, or if its time wasn't sampled yet.
    if (now_ns < 1) continue;
    if (now_ns < kAnotherTime * known->second && known->second < kAnotherTime * now_ns) continue;
    if (std::max(now_ns, known->second) < 1000) continue;
    is_stale = true;
    decision.notes.push_back(
        fmt::format("the profile is stale and dropped: {} takes {} an element now ({} then)",
                    seen.stages[i].label, time_text(now_ns), time_text(known->second)));
  }
  ns_.clear();
  if (!is_stale || before_.size() != seen.knobs.size()) return Check::done;
  set_knobs(seen, before_, decision);
  return Check::stale;
}

std::string profile_text(const PipelineModel& model, const TuningObservation& seen) {
  std::string text = fmt::format("{} {}\ncores {:.3g}\n", kName, kVersion, seen.cores);
  for (std::size_t i = 0; i < seen.stages.size(); ++i) {
    const double ns = model.stage_calls_ns(static_cast<int>(i));
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
