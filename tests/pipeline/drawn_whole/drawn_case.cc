#include "pipeline/drawn_whole/drawn_case.h"

#include <filesystem>
#include <fmt/format.h>

namespace infeed::test {
namespace {

/// Stages that draw, and were given no seed.
bool draws_its_own(const Plan& plan) {
  return plan.any([](const Step& step) {
    const bool draws = step.numbers.contains("seed") && step.at("seed") == 0;
    const bool is_used =
        !(step.op == "files" || step.op == "interleaved_records") || step.get("shuffle", 0) != 0;
    return draws && is_used;
  });
}

bool is_given_as_ready(const Plan& plan) {
  return plan.any([](const Step& step) { return step.get("ordered", 1) == 0; });
}

}  // namespace

DrawnCase::DrawnCase(const CaseOptions& options, std::uint64_t which)
    : number(which), words(options.seed, which) {
  DrawOptions draw;
  draw.has_seeds = words.chance(0.7);
  draw.is_fat = words.chance(options.checks_memory ? 0.3 : 0.04);
  draw.may_be_unordered = words.chance(0.15);
  draw.stages_max = static_cast<int>(words.between(1, 9));
  if (draw.is_fat) draw.elements_max = 150;
  plan = draw_plan(words, draw).plan;
  if (!options.plan.empty()) plan = Plan::from_text(options.plan);
  is_unordered = is_given_as_ready(plan);
  has_seeds = !draws_its_own(plan);
  has_file_cache =
      plan.any([](const Step& step) { return step.op == "file_cache" || step.op == "snapshot"; });
  epoch = words.below(3);
  surroundings.folder = fmt::format("{}/{}", options.folder, number);
  std::filesystem::create_directories(surroundings.folder);
}

AnyDataset DrawnCase::describe(bool is_serial, bool fresh_caches) const {
  Surroundings own = surroundings;
  // Of stages that draw their own seeds each description makes other elements.
  if (fresh_caches || !has_seeds || caches == 0) ++caches;
  own.cache_folder = fmt::format("{}/caches-{}", own.folder, caches);
  own.is_serial = is_serial;
  std::filesystem::create_directories(own.cache_folder);
  return build(plan, own);
}

std::string DrawnCase::command(const CaseOptions& options) const {
  std::string text = fmt::format("infeed_drawn_stages --seed {} --only {}", options.seed, number);
  if (options.checks_memory) text += " --check-memory";
  if (options.checks_refusals) text += " --check-refusals";
  if (!options.plan.empty()) text += fmt::format(" --plan '{}'", options.plan);
  return text;
}

}  // namespace infeed::test
