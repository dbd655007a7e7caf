#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "measured_run.h"
#include "profile/profile_report.h"
#include "temporary_folder.h"

// Asks the profiler for the gain of changes to the tuner's workloads, makes the changes, and prints
// the profiler's error. Meant to be run by what_if.sh.
namespace infeed::what_if {
namespace {

using autotuning::Workload;
using tools::ChangeKind;
using tools::RecordedRun;
using tools::WhatIf;

constexpr double kMedianErrorMax = 0.1;

struct Options {
  MeasureOptions measure;
  int turns = 3;
  std::string only;
};

struct Row {
  std::string workload;
  std::string setting;
  WhatIf what_if;
  double before = 0;  ///< elements/s
  double predicted = 0;
  double measured = 0;

  double error() const { return measured <= 0 ? 1 : std::abs(predicted / measured - 1); }
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Returns the setting with the change made; none if it can't be made here.
std::optional<Setting> changed(const Workload& workload, const Setting& setting,
                               const RecordedRun& run, const WhatIf& what_if) {
  Setting other = setting;
  const std::string label =
      what_if.stage < 0 ? "" : run.stages[static_cast<std::size_t>(what_if.stage)].label;
  const auto knob = other.workers.find(label);
  switch (what_if.kind) {
    case ChangeKind::cores:
      if (setting.cores != 1) return std::nullopt;
      other.cores = 2;
      for (auto& [stage, workers] : other.workers) workers *= stage == "prefetch" ? 1 : 2;
      return other;
    case ChangeKind::storage:
    case ChangeKind::waits:
      other.variation.waits = 0.5;  // if nothing waits, this changes nothing, rightly
      return other;
    case ChangeKind::slice:
      other.variation.step = 0.5;  // a loop that only takes has no step to speed up
      return workload.has_step ? std::optional(other) : std::nullopt;
    case ChangeKind::threads:
      if (knob == other.workers.end()) return std::nullopt;
      knob->second = what_if.threads;
      return other;
    case ChangeKind::cache:
      other.variation.cached = label;
      return std::ranges::count(workload.cacheable, label) > 0 ? std::optional(other)
                                                               : std::nullopt;
    case ChangeKind::prefetch:
      if (knob == other.workers.end()) return std::nullopt;
      knob->second = 1;
      return other;
    case ChangeKind::others:
    case ChangeKind::slow_file:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Measures each proposed change that can be made for one setting, by turns with the unchanged
/// workload.
std::vector<Row> try_changes(const Workload& workload, const Setting& setting,
                             const Options& options) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.profile");
  measured_rate(workload, setting, options.measure, file);
  const RecordedRun run = tools::read_recorded_run(file);
  std::vector<Row> rows;
  std::vector<Setting> settings;
  for (const WhatIf& what_if : tools::explain(run).what_ifs) {
    const auto other = changed(workload, setting, run, what_if);
    if (!other) continue;
    rows.push_back({.workload = workload.name, .setting = setting.text(), .what_if = what_if});
    settings.push_back(*other);
  }
  if (rows.empty()) return rows;
  std::vector<double> before;
  std::vector<std::vector<double>> gains(rows.size());
  for (int turn = 0; turn < options.turns; ++turn) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      before.push_back(measured_rate(workload, setting, options.measure));
      const double after = measured_rate(workload, settings[i], options.measure);
      if (before.back() > 0) gains[i].push_back(after / before.back());
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].before = median(before);
    rows[i].predicted = rows[i].before * (1 + rows[i].what_if.predicted_gain);
    rows[i].measured = rows[i].before * median(gains[i]);
  }
  return rows;
}

/// Returns: everything serial; one worker everywhere; some; and one worker on one core.
std::vector<Setting> settings_of(const Workload& workload, const Options& options) {
  const auto knobs = knobs_of(workload, options.measure);
  const auto with = [&knobs](std::int64_t workers, int cores) {
    Setting setting{.cores = cores};
    for (const auto& [stage, max] : knobs) {
      setting.workers[stage] = std::min(workers, stage == "prefetch" ? 1 : max);
    }
    return setting;
  };
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<Setting> settings = {with(0, 0), with(1, 0)};
  const auto most =
      std::ranges::max_element(knobs, {}, [](const auto& knob) { return knob.second; });
  if (most != knobs.end() && most->second > all) settings.push_back(with(8, 0));
  if (all > 1) settings.push_back(with(1, 1));
  return settings;
}

/// True for the workload of this name; if none has it, for those whose name contains the text.
bool is_wanted(const std::string& name, const std::string& only) {
  const bool is_name = std::ranges::count(autotuning::workloads(), only, &Workload::name) > 0;
  return is_name ? name == only : name.find(only) != std::string::npos;
}

nlohmann::ordered_json json_of(const Row& row) {
  return {{"workload", row.workload},
          {"setting", row.setting},
          {"change", row.what_if.change},
          {"before_per_s", row.before},
          {"predicted_per_s", row.predicted},
          {"measured_per_s", row.measured},
          {"error", row.error()}};
}

int run_all(const Options& options, const std::string& json_file) {
  autotuning::compute(1, 0);  // measures the core, once for all runs
  std::vector<double> errors;
  nlohmann::ordered_json json;
  json["rows"] = nlohmann::ordered_json::array();
  fmt::print(
      "| workload | setting | change | before/s | predicted/s | measured/s | error |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const Workload& workload : autotuning::workloads()) {
    if (!is_wanted(workload.name, options.only)) continue;
    // Another phase has no single rate.
    if (workload.name == "another phase") continue;
    if (workload.name == "JPEG" && !std::filesystem::is_directory(options.measure.data / "photos"))
      continue;
    for (const Setting& setting : settings_of(workload, options)) {
      for (const Row& row : try_changes(workload, setting, options)) {
        errors.push_back(row.error());
        fmt::print("| {} | {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.1f} % |\n", row.workload,
                   row.setting, row.what_if.change, row.before, row.predicted, row.measured,
                   100 * row.error());
        json["rows"].push_back(json_of(row));
      }
      std::fflush(stdout);
    }
  }
  const bool is_met = !errors.empty() && median(errors) < kMedianErrorMax;
  fmt::print("\n{} predictions: median error {:.1f} % (bar: {:.0f} %), {}\n", errors.size(),
             100 * median(errors), 100 * kMedianErrorMax, is_met ? "met" : "MISSED");
  json["median_error"] = median(errors);
  json["bar_met"] = is_met;
  if (!json_file.empty()) std::ofstream(json_file) << json.dump(1) << '\n';
  return is_met ? 0 : 1;
}

}  // namespace
}  // namespace infeed::what_if

int main(int argc, char** argv) {
  using namespace infeed::what_if;
  CLI::App app("Makes the changes that the profiler proposes, and compares");
  Options options;
  std::string json;
  bool is_short = false;
  app.add_option("--json", json, "Also writes the rows as JSON");
  app.add_option("--only", options.only,
                 "Only the workload of this name, or those whose name holds it");
  app.add_option("--data", options.measure.data, "Folder with the record files");
  app.add_flag("--short", is_short, "Shorter runs and fewer turns");
  CLI11_PARSE(app, argc, argv);
  if (is_short) {
    options.measure.seconds = 1;
    options.turns = 1;
  }
  try {
    return run_all(options, json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infeed_what_if: %s\n", error.what());
    return 2;
  }
}
