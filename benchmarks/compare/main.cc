#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <latch>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "data.h"
#include "row.h"

namespace {

/// A thread that never runs. From the second thread of a process on, the C library takes its locks
/// and counts references atomically, as it does in every program that trains.
class IdleThread {
 public:
  ~IdleThread() { over_.count_down(); }

 private:
  std::latch over_{1};
  std::jthread thread_{[this] { over_.wait(); }};
};

}  // namespace

// Measures rows of the comparison with other libraries and prints one JSON object a row. Meant to
// be run by compare.sh; alone it is a quick way to look at one figure.
int main(int argc, char** argv) {
  using namespace infeed::compare;
  CLI::App app("Measures infeed for benchmarks/compare.sh");
  std::vector<std::string> names;
  RunOptions options;
  bool list = false;
  bool make = false;
  bool has_idle_thread = false;
  app.add_option("--row", names, "Row to measure (may be repeated); without it all of them");
  app.add_option("--data", options.data, "Folder with the record files");
  app.add_option("--seconds", options.measure_seconds, "About how long a repetition takes");
  app.add_flag("--make-data", make, "Only write the record files that are not there yet");
  app.add_flag("--list", list, "Only print the names");
  app.add_option(
      "--elements", options.elements,
      "Of rows in ns an element: this many a repetition, instead of what --seconds takes");
  app.add_option(
      "--recording", options.recording,
      "Of rows in ns an element: measure by turns without and with a recording into this "
      "file; \"other\" is the latter");
  app.add_flag("--idle-thread", has_idle_thread,
               "Measure in a process that has a second thread, which sleeps");
  CLI11_PARSE(app, argc, argv);
  std::optional<IdleThread> idle_thread;
  if (has_idle_thread) idle_thread.emplace();

  std::vector<Row> rows;
  for (auto group : {main_rows(), engine_rows(), thread_rows(), records_rows(), convert_rows(),
                     image_rows(), text_rows(), pack_rows(), device_rows(), python_rows()}) {
    rows.insert(rows.end(), group.begin(), group.end());
  }
  for (const std::string& name : names) {
    const auto has_name = [&](const Row& row) { return row.name == name; };
    if (std::none_of(rows.begin(), rows.end(), has_name)) {
      std::fprintf(stderr, "infeed_compare: there is no row '%s' (see --list)\n", name.c_str());
      return 2;
    }
  }
  try {
    if (make) {
      make_data(options.data);
      return 0;
    }
    for (const Row& row : rows) {
      if (!names.empty() && std::find(names.begin(), names.end(), row.name) == names.end())
        continue;
      if (list) {
        std::puts(row.name.c_str());
        continue;
      }
      const Measurement measured = row.measure(options);
      nlohmann::ordered_json line{{"name", row.name}, {"ours", measured.ours}};
      if (measured.other) line["other"] = *measured.other;
      std::puts(line.dump().c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infeed_compare: %s\n", error.what());
    return 1;
  }
  return 0;
}
