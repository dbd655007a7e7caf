#include "profile/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <span>

#include <infeed/error.h>
#include <infeed/records/detail/nearest_names.h>

#include "cli/option_checks.h"

namespace infeed::tools {
namespace {

// As many stretches as give a usable standard error of few windows.
constexpr std::size_t kStretches = 10;
// Two runs of the same program differ by this much anyway (layout, page cache).
constexpr double kNoiseShareMin = 0.02;

struct FigureSample {
  double value = 0;
  double error_squared = 0;  ///< the square of its standard error
};
using Samples = std::map<std::string, FigureSample>;

struct Sums {
  double length_ns = 0;
  double wait_ns = 0;
  double elements = 0;
  double steps = 0;
};

/// By name; of a stretch of windows and steps, or of all.
std::map<std::string, double> figures_of(const RecordedRun& run, std::size_t stretch,
                                         std::size_t stretches) {
  std::map<std::string, double> figures;
  const auto part = [&](std::size_t count) {
    return std::pair(count * stretch / stretches, count * (stretch + 1) / stretches);
  };
  Sums steps;
  const std::span<const RecordedStep> detailed = run.detailed_steps();
  const auto [first_step, last_step] = part(detailed.size());
  for (const RecordedStep& step : detailed.subspan(first_step, last_step - first_step)) {
    steps.length_ns += static_cast<double>(step.length_ns());
    steps.wait_ns += static_cast<double>(step.infeed_wait_ns);
    steps.steps += static_cast<double>(run.count_of(step));
  }
  if (steps.length_ns > 0 && steps.steps > 0) {
    figures["input_bound_percent"] = 100 * steps.wait_ns / steps.length_ns;
    figures["steps_per_s"] = 1e9 * steps.steps / steps.length_ns;
    figures["step_ms"] = steps.length_ns / steps.steps / 1e6;
  }
  Sums windows;
  double cpu_ns = 0;
  double memory_bytes = 0;
  std::vector<StageWindow> stages(run.stages.size());
  const auto [first, last] = part(run.windows.size());
  for (std::size_t i = first; i < last; ++i) {
    const RecordedWindow& window = run.windows[i];
    windows.length_ns += static_cast<double>(window.length_ns);
    windows.elements += static_cast<double>(window.elements);
    cpu_ns += static_cast<double>(window.process_cpu_ns);
    memory_bytes = std::max(memory_bytes, static_cast<double>(window.memory_bytes));
    for (const StageWindow& row : window.stages) {
      StageWindow& sum = stages[static_cast<std::size_t>(row.stage)];
      sum.elements += row.elements;
      sum.cpu_ns += row.cpu_ns;
      sum.blocked_ns += row.blocked_ns;
    }
  }
  if (windows.length_ns > 0) {
    figures["elements_per_s"] = 1e9 * windows.elements / windows.length_ns;
    figures["process_cores"] = cpu_ns / windows.length_ns;
    figures["memory_mb"] = memory_bytes / 1e6;
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].elements == 0) continue;
    const auto each = 1e3 * static_cast<double>(stages[i].elements);
    figures[run.stages[i].label + ": cpu_us_per_element"] =
        static_cast<double>(stages[i].cpu_ns) / each;
    figures[run.stages[i].label + ": blocked_us_per_element"] =
        static_cast<double>(stages[i].blocked_ns) / each;
  }
  return figures;
}

/// The square of the standard error.
double error_squared_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  double squares = 0;
  for (const double value : values) squares += (value - sum / count) * (value - sum / count);
  return squares / (count - 1) / count;
}

Samples samples_of(const RecordedRun& run, const std::stop_token& stop) {
  Samples samples;
  std::map<std::string, std::vector<double>> of_stretches;
  for (std::size_t i = 0; i < kStretches; ++i) {
    for (const auto& [name, value] : figures_of(run, i, kStretches)) {
      of_stretches[name].push_back(value);
    }
  }
  for (const auto& [name, value] : figures_of(run, 0, 1)) {
    samples[name] = {value, error_squared_of(of_stretches[name])};
  }
  // Rare things have no stretches: they come or not, each for itself, so that the squares of what each
  // adds are added. The slowest step is a single one, which shows no change.
  const ProfileReport report = explain(run, stop);
  FigureSample& late_ms = samples["late_ms"];
  double count = 0;
  for (const LateStep& late : report.late_steps) {
    if (late.begin_ns < run.detail_from_ns) continue;
    ++count;
    const double ms = static_cast<double>(late.late_ns) / 1e6;
    late_ms.value += ms;
    late_ms.error_squared += ms * ms;
  }
  samples["late_steps"] = {count, count};
  const double slowest_ms = static_cast<double>(report.slowest_step_ns) / 1e6;
  samples["slowest_step_ms"] = {slowest_ms, slowest_ms * slowest_ms};
  return samples;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

}  // namespace

RunComparison::RunComparison(const RecordedRun& before, const RecordedRun& after,
                             const std::stop_token& stop) {
  const Samples first = samples_of(before, stop);
  const Samples second = samples_of(after, stop);
  for (const auto& [name, sample] : first) {
    const auto found = second.find(name);
    if (found == second.end()) continue;
    ComparedFigure figure{.name = name, .before = sample.value, .after = found->second.value};
    figure.noise = 2 * std::sqrt(sample.error_squared + found->second.error_squared);
    const double least = kNoiseShareMin * std::max(std::abs(figure.before), std::abs(figure.after));
    figure.noise = std::max(figure.noise, least);
    figure.is_changed = std::abs(figure.after - figure.before) > figure.noise;
    figures_.push_back(std::move(figure));
  }
}

bool RunComparison::holds(std::string_view condition) const {
  const std::size_t sign = condition.find_first_of("<>");
  const auto refuse = [&](const std::string& why) {
    return Error(
        ErrorCode::invalid_argument,
        fmt::format("--fail-if '{}': {}; give 'NAME > NUMBER' or 'NAME < NUMBER'", condition, why));
  };
  if (sign == condition.npos) throw refuse("there is no < or >");
  const std::string number = trimmed(condition.substr(sign + 1));
  const std::optional<double> limit = finite_number(number);
  if (!limit) throw refuse(fmt::format("'{}' is no number", number));
  std::string name = trimmed(condition.substr(0, sign));
  constexpr std::string_view kChange = "_change_percent";
  const bool is_change = name.ends_with(kChange);
  if (is_change) name.resize(name.size() - kChange.size());
  const auto figure = std::find_if(figures_.begin(), figures_.end(),
                                   [&name](const auto& one) { return one.name == name; });
  if (figure == figures_.end()) {
    std::vector<std::string> names;
    for (const ComparedFigure& one : figures_) names.push_back(one.name);
    throw refuse(
        fmt::format("there is no figure '{}'; there are {}", name, detail::quoted_names(names)));
  }
  const double value = is_change ? figure->change_percent() : figure->after;
  return condition[sign] == '>' ? value > *limit : value < *limit;
}

}  // namespace infeed::tools
