#include "pipeline/drawn_whole/drawn_case.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "pipeline/drawn_whole/draw_stage.h"

namespace infeed::test {
namespace {

/// True for a stage that draws, and was given no seed.
bool draws_its_own(const Step& step) {
  const bool draws = step.numbers.contains("seed") && step.at("seed") == 0;
  const bool is_used =
      !(step.op == "files" || step.op == "interleaved_records") || step.get("shuffle", 0) != 0;
  return draws && is_used;
}

bool draws_its_own_inside(const Step& step) {
  const bool has_inner_datasets = is_nesting(step.op) || step.op == "interleaved_records";
  return has_inner_datasets && step.inputs.front().any(&draws_its_own);
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
  if (words.chance(0.03)) draw.elements_max = 20'000;
  if (draw.is_fat) draw.elements_max = 150;
  plan = draw_plan(words, draw).plan;
  if (!options.plan.empty()) plan = Plan::from_text(options.plan);
  is_unordered = is_given_as_ready(plan);
  has_seeds = !plan.any(&draws_its_own);
  draws_inside = plan.any(&draws_its_own_inside);
  has_file_cache =
      plan.any([](const Step& step) { return step.op == "file_cache" || step.op == "snapshot"; });
  epoch = words.below(3);
  surroundings.folder = fmt::format("{}/{}", options.folder, number);
  std::filesystem::create_directories(surroundings.folder);
}

AnyDataset DrawnCase::describe(bool is_serial, bool fresh_caches) const {
  Surroundings own = surroundings;
  // If stages draw their own seeds, each description makes other elements.
  if (fresh_caches || !has_seeds || caches == 0) ++caches;
  own.cache_folder = fmt::format("{}/caches-{}", own.folder, caches);
  own.is_serial = is_serial;
  std::filesystem::create_directories(own.cache_folder);
  return build(plan, own);
}

bool DrawnCase::knows_seeds(const std::vector<std::string>& elements) const {
  if (!draws_inside) return true;
  // From outside one can't see which of several branches an element comes from.
  const bool has_branches = plan.any([](const Step& step) { return is_combining(step.op); });
  return !has_branches && std::any_of(elements.begin(), elements.end(),
                                      [](const auto& text) { return !text.starts_with("!"); });
}

std::string DrawnCase::command(const CaseOptions& options) const {
  return fmt::format("infeed_drawn_stages --seed {} --only {}{}", options.seed, number,
                     options_text(options));
}

std::string options_text(const CaseOptions& options) {
  std::string text;
  if (options.checks_memory) text += " --check-memory";
  if (options.checks_refusals) text += " --check-refusals";
  if (options.checks_faults) text += " --check-faults";
  if (!options.plan.empty()) text += fmt::format(" --plan '{}'", options.plan);
  return text;
}

}  // namespace infeed::test
