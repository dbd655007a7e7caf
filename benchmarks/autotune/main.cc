#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <infeed/pipeline/recorded_tuning.h>

#include "core_distance.h"
#include "hill_climb.h"
#include "process_status.h"
#include "workload.h"

// Runs one workload once, by the tuner or with fixed knobs, and prints one JSON object. Meant to be
// run by autotune.sh; alone it shows the tuner's work.
namespace infeed::autotuning {
namespace {

/// Parses "map 'a'=4" or "prefetch/depth=16".
KnobBound bound_of(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos) throw CLI::ValidationError("--set", "give STAGE=VALUE, not " + text);
  KnobBound bound{.stage = text.substr(0, equals)};
  constexpr std::string_view kDepth = "/depth";
  if (bound.stage.ends_with(kDepth)) {
    bound.stage.resize(bound.stage.size() - kDepth.size());
    bound.kind = KnobKind::depth;
  }
  bound.min = bound.max = std::stoll(text.substr(equals + 1));
  return bound;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Returns the median of the last quarter, since the very last looks may fall into the end of the
/// pipeline, without threads.
std::uint64_t median_of_last_quarter(const std::vector<std::uint64_t>& looks) {
  std::vector<std::uint64_t> last(looks.end() - static_cast<std::ptrdiff_t>((looks.size() + 3) / 4),
                                  looks.end());
  std::nth_element(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(last.size() / 2),
                   last.end());
  return last[last.size() / 2];
}

int run(const Workload& workload, const RunOptions& options) {
  compute(1, 0);  // measures the core
  const std::uint64_t resident_before_kib = test::status_value("VmRSS");
  std::atomic<bool> over{false};
  std::vector<std::uint64_t> threads;  // at each look
  std::thread watcher([&] {
    do {
      threads.push_back(test::status_value("Threads") - 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (!over);
  });
  const double cpu_before = cpu_seconds();
  const Outcome outcome = workload.run(options);
  over = true;
  watcher.join();
  nlohmann::ordered_json json{
      {"elements", outcome.elements},
      {"cpu_seconds", cpu_seconds() - cpu_before},
      {"resident_mib",
       static_cast<double>(test::status_value("VmHWM") - resident_before_kib) / 1024},
      {"account_mib", static_cast<double>(outcome.memory_peak_bytes) / (1 << 20)},
      {"threads_max", *std::max_element(threads.begin(), threads.end())},
      {"threads_end", median_of_last_quarter(threads)},
      {"log", outcome.tuning.text()}};
  for (const TuningChange& change : outcome.tuning.changes) {
    json["changes"].push_back({{"at_seconds", change.at_seconds},
                               {"before", change.rate_before},
                               {"predicted", change.rate_predicted},
                               {"after", change.rate_after},
                               {"kept", change.outcome == TuningChange::Outcome::kept}});
  }
  std::puts(json.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace infeed::autotuning

int main(int argc, char** argv) {
  using namespace infeed::autotuning;
  CLI::App app("Runs one workload of the tuner's benchmark");
  std::string name;
  std::string mode = "on";
  std::string record;
  std::vector<std::string> sets;
  RunOptions options;
  bool list = false;
  bool distance = false;
  std::uint64_t memory_mib = 0;
  app.add_option("workload", name, "Its name (see --list)");
  app.add_option("--seconds", options.seconds, "How long it runs");
  app.add_option("--mode", mode, "on, off (the fixed choice), or hill (climbs)")
      ->check(CLI::IsMember({"on", "off", "hill"}));
  app.add_option("--set", sets, "Fixes a knob: STAGE=WORKERS or STAGE/depth=DEPTH");
  app.add_option("--memory", memory_mib, "The limit in MiB");
  app.add_option("--data", options.data, "Folder with the record files");
  app.add_option("--record", record, "Writes what the tuner sees to this file");
  app.add_flag("--list", list, "Only prints the names");
  app.add_flag("--core-distance", distance,
               "Only prints how many ns a line of memory takes from core to core");
  CLI11_PARSE(app, argc, argv);
  if (distance) return std::printf("%.1f\n", core_to_core_ns()) < 0 ? 1 : 0;
  try {
    for (const Workload& workload : workloads()) {
      if (list) std::puts(workload.name.c_str());
      if (list || workload.name != name) continue;
      options.iterate.memory_bytes_max = memory_mib << 20;
      if (mode == "off") options.iterate.tuner.mode = infeed::TunerMode::off;
      if (mode == "hill") options.iterate.tuner.policy = hill_climb();
      for (const std::string& set : sets) options.iterate.tuner.bounds.push_back(bound_of(set));
      if (!record.empty()) {
        options.iterate.tuner.policy = infeed::record_tuning(infeed::make_tuner(), record);
      }
      return run(workload, options);
    }
    if (list) return 0;
    std::fprintf(stderr, "infeed_autotune: there is no workload '%s' (see --list)\n", name.c_str());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infeed_autotune: %s\n", error.what());
    return 1;
  }
}
