#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "growth_row.h"
#include "own_process.h"

// Measures how time and memory grow with the work. Meant to be run by growth.sh.
namespace infeed::growth {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kSizeTimeMax{120};

struct Options {
  std::string only;
  std::string json_file;
  bool is_short = false;
  int repeats = 3;
};

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (std::vector<Row> some : {file_rows(), pipeline_rows(), run_rows()}) {
    std::move(some.begin(), some.end(), std::back_inserter(rows));
  }
  return rows;
}

Cost measured_once(const Row& row, std::uint64_t size) {
  const auto run = [&] {
    Meter meter;
    row.run(size, meter);
    return Json{{"seconds", meter.cost().seconds}, {"bytes", meter.cost().bytes}}.dump();
  };
  const Json json = Json::parse(benchmarks::in_own_process(run, kSizeTimeMax));
  return {.seconds = json.at("seconds"), .bytes = json.at("bytes")};
}

/// Returns the least of several runs: others on the machine only add.
Cost measured(const Row& row, std::uint64_t size, int repeats) {
  Cost least = measured_once(row, size);
  for (int i = 1; i < repeats; ++i) {
    const Cost again = measured_once(row, size);
    least = {std::min(least.seconds, again.seconds), std::min(least.bytes, again.bytes)};
  }
  return least;
}

/// A row and what it has cost.
struct Measured {
  Row row;
  Growth growth = {};
  std::string failure = {};

  static bool is_within(double exponent, double factor_max) {
    return std::pow(10, exponent - 1) <= factor_max;
  }
  bool is_met() const {
    return failure.empty() && is_within(growth.seconds_exponent(), row.seconds_max) &&
           is_within(growth.bytes_exponent(), row.bytes_max);
  }
  std::string verdict() const {
    if (!failure.empty()) return "FAILED: " + failure;
    if (!is_met()) return "MISSED";
    return row.reason.empty() ? "met" : "reason: " + row.reason;
  }
};

Measured measured(const Row& row, const Options& options) {
  Measured result{row};
  std::uint64_t size = options.is_short ? row.first_short : row.first;
  try {
    for (int point = 0; point < 3; ++point, size *= 10) {
      result.growth.sizes.push_back(size);
      result.growth.costs.push_back(measured(row, size, options.repeats));
    }
  } catch (const std::exception& error) {
    result.failure = error.what();
  }
  return result;
}

void print_head() {
  fmt::print("{:<13}{:<45}{:>9}  {:^29}{:>6}  {:^29}{:>6}\n", "multiplied", "", "from",
             "ms of all cores", "grows", "MiB", "grows");
}

void print(const Measured& of) {
  fmt::print("{:<13}{:<45}{:>9}  ", of.row.multiplied, of.row.name, of.growth.sizes.front());
  if (of.failure.empty()) {
    for (const Cost& cost : of.growth.costs) fmt::print("{:>9.1f} ", 1e3 * cost.seconds);
    fmt::print("{:>5.2f}  ", of.growth.seconds_exponent());
    for (const Cost& cost : of.growth.costs) {
      fmt::print("{:>9.1f} ", static_cast<double>(cost.bytes) / (1 << 20));
    }
    fmt::print("{:>5.2f}  ", of.growth.bytes_exponent());
  }
  fmt::print("{}\n", of.verdict());
  std::fflush(stdout);
}

Json json_of(const Measured& of) {
  Json seconds = Json::array();
  Json bytes = Json::array();
  for (const Cost& cost : of.growth.costs) {
    seconds.push_back(cost.seconds);
    bytes.push_back(cost.bytes);
  }
  Json json = {{"multiplied", of.row.multiplied},
               {"row", of.row.name},
               {"sizes", of.growth.sizes},
               {"seconds", seconds},
               {"bytes", bytes},
               {"reason", of.row.reason},
               {"verdict", of.verdict()}};
  if (of.failure.empty()) {
    json["seconds_exponent"] = of.growth.seconds_exponent();
    json["bytes_exponent"] = of.growth.bytes_exponent();
  }
  return json;
}

int run_all(const Options& options) {
  Json json;
  json["rows"] = Json::array();
  std::size_t missed = 0;
  print_head();
  for (const Row& row : all_rows()) {
    if ((row.multiplied + " " + row.name).find(options.only) == std::string::npos) continue;
    Measured result = measured(row, options);
    // Others on the machine only add, to the larger sizes, too.
    for (int more = 0; more < 3 && !result.is_met(); ++more) result = measured(row, options);
    print(result);
    json["rows"].push_back(json_of(result));
    missed += result.is_met() ? 0 : 1;
  }
  const std::size_t count = json["rows"].size();
  fmt::print("{} of {} rows grow by {} of linear at most, or as their reason allows\n",
             count - missed, count, kLinear);
  if (!options.json_file.empty()) std::ofstream(options.json_file) << json.dump(1) << '\n';
  return missed == 0 && count > 0 ? 0 : 1;
}

}  // namespace
}  // namespace infeed::growth

int main(int argc, char** argv) {
  CLI::App app("Measures how time and memory grow with the work");
  infeed::growth::Options options;
  app.add_option("--json", options.json_file, "Also writes the rows as JSON");
  app.add_option("--only", options.only, "Only the rows whose names hold it");
  app.add_option("--repeats", options.repeats, "Runs of each size, of which the least counts")
      ->check(CLI::PositiveNumber);
  app.add_flag("--short", options.is_short, "Smaller sizes, in a few seconds");
  CLI11_PARSE(app, argc, argv);
  try {
    return infeed::growth::run_all(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infeed_growth: %s\n", error.what());
    return 2;
  }
}
