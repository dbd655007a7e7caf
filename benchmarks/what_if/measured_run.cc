#include "measured_run.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <memory>
#include <sched.h>
#include <sys/prctl.h>
#include <system_error>

#include <infeed/pipeline/tuning_policy.h>

#include "own_process.h"

namespace infeed::what_if {
namespace {

using autotuning::kBucket;
using autotuning::Outcome;
using autotuning::RunOptions;
using autotuning::Workload;
using std::chrono::duration;

// Time for threads to start and caches to fill.
constexpr double kStartS = 0.4;
constexpr double kFillS = 1.6;
// Periods of a rate that goes up and down.
constexpr double kPeriods = 5;
constexpr std::chrono::hours kRunTimeMax(1);

std::system_error failed(const char* what) {
  return std::system_error(errno, std::generic_category(), what);
}

void use_cores(int cores) {
  if (cores <= 0) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) throw failed("sched_getaffinity");
  for (int core = 0, used = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed) && used++ >= cores) CPU_CLR(core, &allowed);
  }
  if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) throw failed("sched_setaffinity");
}

/// Returns elements a second of the last `seconds`; the last interval may be cut short.
double rate_of(const Outcome& outcome, double seconds) {
  const std::size_t end = outcome.elements.empty() ? 0 : outcome.elements.size() - 1;
  const auto wanted = static_cast<std::size_t>(seconds / duration<double>(kBucket).count());
  const std::size_t size = std::min(end, wanted);
  std::uint64_t elements = 0;
  for (std::size_t i = end - size; i < end; ++i) elements += outcome.elements[i];
  const duration<double> took = kBucket * size;
  return size == 0 ? 0 : static_cast<double>(elements) / took.count();
}

/// Only lists the knobs.
class KnobList final : public TuningPolicy {
 public:
  TuningDecision observe(const TuningObservation& seen) override {
    text_.clear();
    for (const KnobState& knob : seen.knobs) {
      if (knob.stage < 0 || knob.kind != KnobKind::workers || knob.min == knob.max) continue;
      const auto stage = static_cast<std::size_t>(knob.stage);
      text_ += fmt::format("{}={}\n", seen.stages[stage].label, knob.max);
    }
    return {};
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string Setting::text() const {
  std::string text = cores == 1 ? "one core" : "";
  for (const auto& [stage, count] : workers) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", stage,
                        count == 0 ? "serial" : std::to_string(count));
  }
  return text;
}

double measured_rate(const Workload& workload, const Setting& setting,
                     const MeasureOptions& options, const std::filesystem::path& recording) {
  const auto run_it = [&] {
    use_cores(setting.cores);
    // The kernel's timer slack must not make storage slower.
    ::prctl(PR_SET_TIMERSLACK, 1);
    const double start_s = kStartS + (setting.variation.cached.empty() ? 0 : kFillS);
    const double seconds = std::max(options.seconds, kPeriods * workload.period_s);
    RunOptions run{
        .seconds = start_s + seconds, .data = options.data, .variation = setting.variation};
    for (const auto& [stage, count] : setting.workers) {
      run.iterate.tuner.bounds.push_back({.stage = stage, .min = count, .max = count});
    }
    run.iterate.recording.file = recording.string();
    return std::to_string(rate_of(workload.run(run), seconds));
  };
  return std::stod(benchmarks::in_own_process(run_it, kRunTimeMax));
}

std::map<std::string, std::int64_t> knobs_of(const Workload& workload,
                                             const MeasureOptions& options) {
  const auto list_them = [&] {
    const auto list = std::make_shared<KnobList>();
    RunOptions run{.seconds = 0.3, .data = options.data};
    run.iterate.tuner.policy = list;
    workload.run(run);
    return list->text();
  };
  const std::string text = benchmarks::in_own_process(list_them, kRunTimeMax);
  std::map<std::string, std::int64_t> knobs;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::size_t equals = text.rfind('=', end);
    knobs[text.substr(at, equals - at)] = std::stoll(text.substr(equals + 1, end - equals - 1));
    at = end + 1;
  }
  return knobs;
}

}  // namespace infeed::what_if
