#include "pipeline/drawn_whole/draw_plan.h"

#include <algorithm>

#include "pipeline/drawn_whole/draw_stage.h"

namespace infeed::test {
namespace {

/// How deep branches may have branches of their own.
constexpr int kDepthMax = 2;

class PlanDrawer {
 public:
  PlanDrawer(Words& words, const DrawOptions& options, int depth)
      : words_(words), options_(options), depth_(depth) {}

  /// `wanted`: the kind that the plan must end with; none: any.
  Plan draw(std::optional<Kind> wanted, std::int64_t elements_max, int stages_max,
            DrawState& state) {
    state.elements_bound = elements_max;
    Plan plan;
    plan.steps.push_back(draw_source(words_, options_, state));
    if (plan.steps.back().op == "interleaved_records") {
      plan.steps.back().inputs.push_back(inner_plan(state, 0));
    }
    add_stages(plan, words_.between(0, stages_max), state);
    if (wanted) convert(plan, *wanted, state);
    if (state.is_endless) take_some(plan, state);
    return plan;
  }

 private:
  void add_stages(Plan& plan, std::int64_t stages, DrawState& state) {
    for (std::int64_t i = 0; i < stages; ++i) {
      if (state.is_endless && words_.chance(0.6)) {
        take_some(plan, state);
        continue;
      }
      Step step = draw_stage(words_, options_, state);
      if (is_combining(step.op) || is_nesting(step.op)) {
        if (depth_ == kDepthMax) continue;
        add_inputs(step, state);
      }
      plan.steps.push_back(std::move(step));
    }
  }

  void add_inputs(Step& step, DrawState& state) {
    if (is_nesting(step.op)) {
      const std::int64_t modulus = words_.between(2, options_.is_fat ? 3 : 7);
      step.inputs.push_back(inner_plan(state, modulus));
      state.count_max *= modulus;
      return;
    }
    const std::int64_t inputs =
        step.op == "sample" || step.op == "choose" ? words_.between(1, 3) : 1;
    for (std::int64_t i = 0; i < inputs; ++i) {
      DrawState other;
      DrawOptions branch = options_;
      branch.may_be_unordered = false;
      PlanDrawer drawer(words_, branch, depth_ + 1);
      step.inputs.push_back(
          drawer.draw(state.kind, std::max<std::int64_t>(20, options_.elements_max / 4), 3, other));
      if (step.op != "zip") state.count_max += other.count_max;
    }
  }

  /// The inner dataset of a flat_map or interleave: a few elements, and stages that keep their kind.
  Plan inner_plan(const DrawState& outer, std::int64_t modulus) {
    Plan plan;
    plan.steps.push_back({.op = "inner",
                          .numbers = {{"modulus", std::max<std::int64_t>(1, modulus)}},
                          .inputs = {}});
    if (words_.chance(0.3)) plan.steps.front().numbers["refused"] = words_.between(0, 28);
    DrawState state;
    state.kind = outer.kind;
    state.count_max = std::max<std::int64_t>(1, modulus);
    state.elements_bound = 4 * state.count_max;
    state.is_inner = true;
    DrawOptions inner = options_;
    inner.may_be_unordered = false;
    PlanDrawer drawer(words_, inner, depth_ + 1);
    drawer.add_stages(plan, words_.rather_small(3), state);
    drawer.convert(plan, outer.kind, state);
    if (state.is_endless) take_some(plan, state);
    return plan;
  }

  void convert(Plan& plan, Kind wanted, DrawState& state) {
    if (state.is_endless) take_some(plan, state);
    for (Step& step : steps_to(words_, options_, wanted, state)) {
      plan.steps.push_back(std::move(step));
    }
  }

  void take_some(Plan& plan, DrawState& state) {
    const std::int64_t count = 1 + words_.rather_small(state.elements_bound);
    plan.steps.push_back({.op = "take", .numbers = {{"count", count}}, .inputs = {}});
    state.is_endless = false;
    state.count_max = count;
  }

  Words& words_;
  const DrawOptions& options_;
  const int depth_;
};

}  // namespace

DrawnPlan draw_plan(Words& words, const DrawOptions& options) {
  DrawState state;
  Plan plan = PlanDrawer(words, options, 0)
                  .draw(std::nullopt, options.elements_max, options.stages_max, state);
  return {std::move(plan), state.is_unordered};
}

}  // namespace infeed::test
