#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measured_case.h"
#include "own_process.h"

// Measures the memory of pipelines with a memory limit, by a counting allocator and by the system,
// and compares it with their limits. Meant to be run by memory_limit.sh.
namespace infeed::memory_limit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kCaseTimeMax{60};

std::vector<MemoryCase> all_cases() {
  std::vector<MemoryCase> cases;
  for (std::vector<MemoryCase> some : {element_cases(), batch_cases(), record_cases()}) {
    std::move(some.begin(), some.end(), std::back_inserter(cases));
  }
  return cases;
}

Json json_of(const Figures& figures) {
  return {{"counted_peak", figures.counted_peak},
          {"resident_peak", figures.resident_peak},
          {"account_peak", figures.account_peak},
          {"statistics_peak", figures.statistics_peak},
          {"counted_after", figures.counted_after},
          {"resident_after", figures.resident_after},
          {"elements", figures.elements},
          {"outcome", figures.outcome},
          {"seconds", figures.seconds}};
}

/// A case and its figures.
struct Row {
  const MemoryCase& of;
  Json figures = {};
  std::string failure = {};

  std::uint64_t bytes(const char* figure) const { return figures.at(figure); }
  /// Returns which figures were too large; empty if none was.
  std::string missed() const {
    const auto note = [](std::string& text, bool is_met, const char* name) {
      if (!is_met) text += (text.empty() ? "" : ", ") + std::string(name);
    };
    std::string text;
    note(text, bytes("counted_peak") <= of.allowed_bytes(), "peak");
    note(text, bytes("resident_peak") <= of.allowed_bytes(), "resident");
    note(text, of.may_refuse || figures.at("outcome") == "whole", "elements");
    note(text, bytes("counted_after") <= of.kept_bytes + kLeftoverBytes, "after");
    return text;
  }
  std::string verdict() const {
    if (!failure.empty()) return "FAILED";
    return missed().empty() ? "met" : "MISSED: " + missed();
  }
};

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

Row measured(const MemoryCase& of) {
  Row row{of};
  try {
    row.figures = Json::parse(
        benchmarks::in_own_process([&of] { return json_of(of.run(of)).dump(); }, kCaseTimeMax));
  } catch (const std::exception& error) {
    row.failure = error.what();
  }
  return row;
}

void print_head() {
  fmt::print("{:51}{:>6}{:>9}{:>9}{:>10}{:>9}{:>7}{:>8}{:>10}  {:45}  {}\n", "MiB", "limit",
             "allowed", "counted", "resident", "account", "stats", "after", "resident",
             "allowed beyond the limit and 16", "");
}

/// Returns what may come on top of the limit, besides the allowance of every case.
std::string on_top_of_limit(const MemoryCase& of) {
  std::string text;
  if (of.calls > 0)
    text = fmt::format("{} x {:.1f}: {}", of.calls, mib(of.element_bytes), of.on_top);
  if (of.consumer_bytes > 0) {
    text +=
        fmt::format("{}{:.1f}: the consumer's", text.empty() ? "" : ", ", mib(of.consumer_bytes));
  }
  return text;
}

void print(const Row& row) {
  const MemoryCase& of = row.of;
  fmt::print("{:51}{:6.0f}{:9.1f}", of.name, mib(of.limit_bytes), mib(of.allowed_bytes()));
  if (row.failure.empty()) {
    fmt::print("{:9.1f}{:10.1f}{:9.1f}{:7.0f}{:8.1f}{:10.1f}  {:45}  {}{}\n",
               mib(row.bytes("counted_peak")), mib(row.bytes("resident_peak")),
               mib(row.bytes("account_peak")), mib(row.bytes("statistics_peak")),
               mib(row.bytes("counted_after")), mib(row.bytes("resident_after")),
               on_top_of_limit(of), row.verdict(),
               row.figures["outcome"] == "whole" ? "" : " (refused)");
  } else {
    fmt::print("  {}: {}\n", row.verdict(), row.failure);
  }
  std::fflush(stdout);
}

Json json_of(const Row& row) {
  Json json = {{"case", row.of.name},
               {"limit", row.of.limit_bytes},
               {"calls", row.of.calls},
               {"element", row.of.element_bytes},
               {"consumer", row.of.consumer_bytes},
               {"allowed", row.of.allowed_bytes()},
               {"kept", row.of.kept_bytes},
               {"verdict", row.verdict()}};
  json.update(row.figures.is_null() ? Json::object() : row.figures);
  if (!row.failure.empty()) json["failure"] = row.failure;
  return json;
}

int run_all(const std::string& only, const std::string& json_file) {
  Json json;
  json["rows"] = Json::array();
  std::size_t missed = 0;
  const std::vector<MemoryCase> cases = all_cases();
  print_head();
  for (const MemoryCase& of : cases) {
    if (of.name.find(only) == std::string::npos) continue;
    const Row row = measured(of);
    print(row);
    json["rows"].push_back(json_of(row));
    missed += row.verdict() == "met" ? 0 : 1;
  }
  const std::size_t count = json["rows"].size();
  fmt::print("{} of {} met\n", count - missed, count);
  if (!json_file.empty()) std::ofstream(json_file) << json.dump(1) << '\n';
  return missed == 0 && count > 0 ? 0 : 1;
}

}  // namespace
}  // namespace infeed::memory_limit

int main(int argc, char** argv) {
  CLI::App app("Measures what pipelines with a memory limit hold");
  std::string only;
  std::string json;
  // One arena: with an arena for each thread, the C library's store of freed memory outweighs all
  // else.
  int arenas = 1;
  app.add_option("--json", json, "Also writes the rows as JSON, in bytes");
  app.add_option("--arenas", arenas, "As MALLOC_ARENA_MAX: 0 leaves it to the C library");
  app.add_option("--only", only, "Only the cases whose names hold it");
  CLI11_PARSE(app, argc, argv);
  if (arenas > 0) ::mallopt(M_ARENA_MAX, arenas);
  try {
    return infeed::memory_limit::run_all(only, json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infeed_memory_limit: %s\n", error.what());
    return 2;
  }
}
