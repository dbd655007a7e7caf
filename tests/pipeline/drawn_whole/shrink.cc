#include "pipeline/drawn_whole/shrink.h"

#include <cstdio>
#include <fmt/format.h>

#include "pipeline/drawn_whole/other_process.h"

namespace infeed::test {
namespace {

/// The simplest value of each number of a step.
const std::map<std::string, std::int64_t>& simple_numbers() {
  static const std::map<std::string, std::int64_t> kSimple = {
      {"parallelism", 1},  {"readers", 1},
      {"damage", 0},       {"bad", 0},
      {"packing", 0},      {"pack", 0},
      {"map_files", 0},    {"resynchronise", 0},
      {"work_us", 0},      {"drop_remainder", 0},
      {"files", 1},        {"reshuffle", 0},
      {"refused", 0},      {"seed_by_position", 0},
      {"retries", 0},      {"index", 0},
      {"cycle_length", 1}, {"block_length", 1},
      {"stops", 0},        {"weighted", 0},
      {"shuffle", 0}};
  return kSimple;
}
/// Numbers that may be halved.
constexpr const char* kAmounts[] = {"rows",       "count", "size", "buffer",
                                    "text_bytes", "bytes", "files"};

using Candidates = std::vector<Plan>;

/// Returns all plans that differ from this one in one place, including places in branches.
Candidates simpler(const Plan& plan) {
  Candidates found;
  for (std::size_t i = plan.steps.size(); i-- > 1;) {
    Plan without = plan;
    without.steps.erase(without.steps.begin() + static_cast<std::ptrdiff_t>(i));
    found.push_back(std::move(without));
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto changed = [&](const auto& change) {
      Plan other = plan;
      change(other.steps[i]);
      found.push_back(std::move(other));
    };
    const Step& step = plan.steps[i];
    for (std::size_t input = 0; input < step.inputs.size(); ++input) {
      for (Plan& branch : simpler(step.inputs[input])) {
        changed([&](Step& other) { other.inputs[input] = std::move(branch); });
      }
    }
    for (const auto& [name, number] : simple_numbers()) {
      if (step.get(name, number) == number) continue;
      changed([&name = name, &number = number](Step& other) { other.numbers[name] = number; });
    }
    for (const char* const name : kAmounts) {
      if (step.get(name, 0) < 2) continue;
      changed([name](Step& other) { other.numbers[name] /= 2; });
    }
  }
  return found;
}

bool fails(const CaseOptions& options, const DrawnCase& failing, const Plan& plan, int tries) {
  std::vector<std::string> arguments = {"--seed",         std::to_string(options.seed),
                                        "--first",        std::to_string(failing.number),
                                        "--pipelines",    std::to_string(tries),
                                        "--hang-seconds", "15",
                                        "--folder",       options.folder,
                                        "--plan",         plan.text(),
                                        "--worker",       "--quick"};
  if (options.checks_memory) arguments.emplace_back("--check-memory");
  if (options.checks_refusals) arguments.emplace_back("--check-refusals");
  if (options.checks_faults) arguments.emplace_back("--check-faults");
  const int status = run_self(arguments, Output::none);
  return status != 0 && status != 2;
}

}  // namespace

void print_shrunk(const CaseOptions& options, const DrawnCase& failing, int tries) {
  Plan plan = failing.plan;
  if (!fails(options, failing, plan, tries)) {
    return fmt::print("it doesn't fail again in {} tries\n", tries);
  }
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (Plan& candidate : simpler(plan)) {
      if (!fails(options, failing, candidate, tries)) continue;
      plan = std::move(candidate);
      fmt::print("{}\n", plan.text());
      std::fflush(stdout);
      is_smaller = true;
      break;
    }
  }
  CaseOptions small = options;
  small.plan = plan.text();
  fmt::print("smallest: infeed_drawn_stages --seed {} --first {} --pipelines {}{}\n", options.seed,
             failing.number, tries, options_text(small));
}

}  // namespace infeed::test
