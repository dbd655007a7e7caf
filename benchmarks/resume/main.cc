#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "resume_row.h"
#include "temporary_folder.h"

// Measures what a resume costs, stage by stage. Meant to be run by resume.sh.
namespace infeed::resume {
namespace {

constexpr double kSecondsMax = 1;
constexpr std::uint64_t kCheckpointBytesMax = 4096;

/// Prints a row. Returns true if it is met.
bool measure(const ResumeRow& row, std::uint64_t element) {
  Cost cost;
  std::string failure;
  try {
    // Others on the machine only add.
    for (int runs = 0; runs < 5 && (runs == 0 || cost.resume_seconds >= kSecondsMax); ++runs) {
      cost = row.run(element);
      if (!cost.is_same) failure = "FAILED: another element came";
      if (!row.why_not.empty()) break;
    }
  } catch (const std::exception& error) {
    failure = fmt::format("FAILED: {}", error.what());
  }
  const bool is_quick =
      cost.resume_seconds < kSecondsMax && cost.checkpoint_bytes < kCheckpointBytesMax;
  const bool is_met = failure.empty() && (is_quick || !row.why_not.empty());
  std::string verdict = failure;
  if (failure.empty()) verdict = row.why_not.empty() ? (is_met ? "met" : "MISSED") : row.why_not;
  fmt::print("{:26} {:44} {:9.1f} {:9.2f} {:7}  {}\n", row.stage, row.pipeline,
             1e3 * cost.run_seconds, 1e3 * cost.resume_seconds, cost.checkpoint_bytes, verdict);
  std::fflush(stdout);
  return is_met;
}

int run(std::uint64_t element, const std::string& only) {
  const TemporaryFolder folder;
  std::vector<ResumeRow> rows = file_rows(element, folder.path().string());
  std::vector<ResumeRow> more = stage_rows(element);
  std::move(more.begin(), more.end(), std::back_inserter(rows));
  fmt::print("{:26} {:44} {:>9} {:>9} {:>7}\n", fmt::format("element {}", element), "pipeline",
             "run ms", "resume ms", "bytes");
  int missed = 0;
  for (const ResumeRow& row : rows) {
    if (row.stage.find(only) == std::string::npos) continue;
    if (!measure(row, element)) ++missed;
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace infeed::resume

int main(int argc, char** argv) {
  CLI::App app("What a resume at an element costs, for each stage.");
  std::uint64_t element = 1'000'000;
  std::string only;
  bool is_short = false;
  app.add_option("--element", element, "the element to resume at (1,000,000)");
  app.add_option("--only", only, "only the rows whose stages hold this text");
  app.add_flag("--short", is_short, "at element 20,000");
  CLI11_PARSE(app, argc, argv);
  return infeed::resume::run(is_short ? 20'000 : element, only);
}
