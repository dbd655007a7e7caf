#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "fault_kind.h"
#include "temporary_folder.h"

// Plants faults of every kind and prints how many of the late steps were blamed on them. Meant to
// be run by blame.sh.
namespace infeed::blaming {
namespace {

constexpr double kRightShareMin = 0.95;

struct Options {
  int late_steps_min = 100;
  int rounds_max = 20;
  int healthy_rounds = 3;
  std::string only;
  bool shows_wrong = false;
};

struct Row {
  test::Judgement judged;
  int rounds = 0;
  std::string why_not;  ///< this machine can't
};

Row run(const FaultKind& kind, const Options& options) {
  Row row;
  const int rounds_max = kind.is_healthy ? options.healthy_rounds : options.rounds_max;
  try {
    while (row.rounds < rounds_max &&
           (kind.is_healthy || row.judged.injected < options.late_steps_min)) {
      const TemporaryFolder folder;
      ++row.rounds;
      row.judged += kind.run({folder.path(), static_cast<std::uint64_t>(row.rounds)});
    }
  } catch (const std::runtime_error& error) {
    row.why_not = error.what();
  }
  return row;
}

bool is_met(const FaultKind& kind, const Row& row) {
  const test::Judgement& judged = row.judged;
  if (judged.false_blame > 0) return false;
  if (kind.is_healthy) return true;
  return judged.injected > 0 && judged.blamed_right >= kRightShareMin * judged.injected;
}

int run_all(const Options& options, const std::string& json_file) {
  std::vector<FaultKind> kinds = storage_faults();
  for (FaultKind& kind : function_faults()) kinds.push_back(std::move(kind));
  for (FaultKind& kind : surrounding_faults()) kinds.push_back(std::move(kind));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  fmt::print(
      "| planted | late steps by it | blamed right | falsely blamed | others, by the machine | "
      "bar |\n|---|---|---|---|---|---|\n");
  bool all_met = true;
  for (const FaultKind& kind : kinds) {
    if (kind.name.find(options.only) == std::string::npos) continue;
    const Row row = run(kind, options);
    const test::Judgement& judged = row.judged;
    const bool met = row.why_not.empty() && is_met(kind, row);
    all_met = all_met && met;
    fmt::print("| {} | {} | {} | {} | {} | {} |\n", kind.name, judged.injected, judged.blamed_right,
               judged.false_blame, judged.of_machine,
               row.why_not.empty() ? met ? "met" : "MISSED" : row.why_not);
    if (options.shows_wrong) fmt::print("{}", judged.wrong);
    std::fflush(stdout);
    nlohmann::ordered_json line{{"name", kind.name},
                                {"injected", judged.injected},
                                {"blamed_right", judged.blamed_right},
                                {"false_blame", judged.false_blame},
                                {"late_by_machine", judged.of_machine},
                                {"rounds", row.rounds},
                                {"bar_met", met}};
    if (!row.why_not.empty()) {
      line["bar_met"] = nullptr;
      line["why"] = row.why_not;
    }
    rows.push_back(std::move(line));
    if (!json_file.empty()) std::ofstream(json_file) << rows.dump(1) << '\n';
  }
  return all_met ? 0 : 1;
}

}  // namespace
}  // namespace infeed::blaming

int main(int argc, char** argv) {
  using namespace infeed::blaming;
  CLI::App app("Plants faults and judges what the profiler says of them");
  Options options;
  std::string json;
  bool is_short = false;
  app.add_option("--json", json, "Also writes the rows as JSON");
  app.add_option("--only", options.only, "Only kinds whose name holds this");
  app.add_flag("--short", is_short, "Fewer late steps of each kind");
  app.add_flag("--wrong", options.shows_wrong, "Shows each late step that was blamed wrongly");
  CLI11_PARSE(app, argc, argv);
  if (is_short) {
    options.late_steps_min = 20;
    options.rounds_max = 5;
    options.healthy_rounds = 1;
  }
  try {
    return run_all(options, json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infeed_blame: %s\n", error.what());
    return 2;
  }
}
