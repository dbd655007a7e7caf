#include "pipeline/drawn_whole/draw_stage.h"

#include <infeed/pipeline/options.h>

#include "pipeline/drawn_whole/stage_kinds.h"

namespace infeed::test {
namespace {

/// The weight of a stage among those that fit. Records are mostly parsed at once, as in programs:
/// only then are they read in blocks.
int weight_of(const StageKind& stage, const DrawState& state) {
  const bool parses = state.kind == Kind::record && stage.takes == only(Kind::record);
  return parses ? 4 * stage.weight : stage.weight;
}

bool fits(const StageKind& stage, const DrawState& state) {
  const bool has_end = !state.is_endless || (stage.needs & an_end) == 0;
  const bool has_order = !state.is_unordered || (stage.needs & order) == 0;
  const bool has_index = state.is_indexable || (stage.needs & an_index) == 0;
  const bool has_room = 3 * state.count_max < state.elements_bound || (stage.needs & room) == 0;
  const bool is_allowed_inside = !state.is_inner || (stage.needs & not_inner) == 0;
  return (stage.takes & only(state.kind)) != 0 && has_end && has_order && has_index && has_room &&
         is_allowed_inside;
}

/// Notes whether global_shuffle can still stand behind such a stage.
bool keeps_index(std::string_view op) {
  return op == "map" || op == "map_random" || op == "map_fails" || op == "enumerate" ||
         op == "global_shuffle" || op.starts_with("to_");
}

}  // namespace

Step draw_stage(Words& words, const DrawOptions& options, DrawState& state) {
  int all = 0;
  for (const StageKind& stage : stages()) all += fits(stage, state) ? weight_of(stage, state) : 0;
  auto at = static_cast<int>(words.below(static_cast<std::uint64_t>(all)));
  for (const StageKind& stage : stages()) {
    if (!fits(stage, state) || (at -= weight_of(stage, state)) >= 0) continue;
    Step step{.op = stage.op, .numbers = stage.draw({words, options, state}), .inputs = {}};
    if (!keeps_index(step.op)) state.is_indexable = false;
    return step;
  }
  return {};
}

std::vector<Step> steps_to(Words& words, const DrawOptions& options, Kind wanted,
                           DrawState& state) {
  std::vector<Step> steps;
  const auto add = [&](const std::string& op) {
    for (const StageKind& stage : stages()) {
      if (stage.op != op) continue;
      steps.push_back({.op = op, .numbers = stage.draw({words, options, state}), .inputs = {}});
      state.is_indexable = false;
      return;
    }
  };
  if (state.kind == wanted) return {};
  const bool is_of_integers = wanted == Kind::integers || wanted == Kind::samples;
  if (wanted == Kind::integer || (is_of_integers && state.kind != Kind::integer)) add("to_integer");
  if (wanted == Kind::text) add("to_text");
  if (wanted == Kind::record) add("to_record");
  if (wanted == Kind::numbers || wanted == Kind::columns) add("to_numbers");
  const bool is_of_sentences = wanted == Kind::ragged || wanted == Kind::padded;
  if (wanted == Kind::sentence || (is_of_sentences && state.kind != Kind::sentence)) {
    add("to_sentence");
  }
  if (wanted == Kind::integers) add("batch");
  if (wanted == Kind::samples) add("batch_into");
  if (wanted == Kind::ragged) add("ragged_batch");
  if (wanted == Kind::padded) add("padded_batch");
  if (wanted == Kind::columns) add("pack");
  return steps;
}

bool is_combining(std::string_view op) {
  return op == "concatenate" || op == "zip" || op == "sample" || op == "choose";
}
bool is_nesting(std::string_view op) { return op == "flat_map" || op == "interleave"; }

std::int64_t draw_parallelism(Words& words) {
  if (words.chance(0.35)) return 1;
  return words.chance(0.4) ? autotune : words.between(2, 6);
}

std::int64_t draw_seed(Words& words, const DrawOptions& options) {
  const std::int64_t seed = words.between(1, 1'000'000);
  return options.has_seeds || words.chance(0.4) ? seed : 0;
}

}  // namespace infeed::test
