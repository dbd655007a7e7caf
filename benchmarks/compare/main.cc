#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data.h"
#include "row.h"

// Measures rows of the comparison with other libraries and prints one JSON object a row. Meant to
// be run by compare.sh; alone it is a quick way to look at one figure.
int main(int argc, char** argv) {
  using namespace infeed::compare;
  CLI::App app("Measures infeed for benchmarks/compare.sh");
  std::vector<std::string> names;
  RunOptions options;
  bool list = false;
  bool make = false;
  app.add_option("--row", names, "Row to measure (may be repeated); without it all of them");
  app.add_option("--data", options.data, "Folder with the record files");
  app.add_option("--seconds", options.measure_seconds, "About how long a repetition takes");
  app.add_flag("--make-data", make, "Only write the record files that are not there yet");
  app.add_flag("--list", list, "Only print the names");
  CLI11_PARSE(app, argc, argv);

  std::vector<Row> rows;
  for (auto group : {main_rows(), engine_rows(), thread_rows(), records_rows(), convert_rows(),
                     image_rows(), text_rows(), pack_rows(), device_rows()}) {
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
