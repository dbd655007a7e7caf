#pragma once

#include "pipeline/drawn_whole/kinds.h"
#include "pipeline/drawn_whole/plan.h"
#include "pipeline/drawn_whole/words.h"

namespace infeed::test {

/// What may be drawn.
struct DrawOptions {
  std::int64_t elements_max = 1500;
  int stages_max = 8;
  /// Whether each stage that draws is given a seed; else they draw their own when they are
  /// described, and only a checkpoint brings the same order again.
  bool has_seeds = true;
  /// Whether elements of up to a megabyte come.
  bool is_fat = false;
  /// Whether stages may give their elements as they are ready; then only their set is known.
  bool may_be_unordered = false;
};

struct DrawnPlan {
  Plan plan;
  bool is_unordered = false;
};

/// A source and stages behind it, each of which takes the elements that the one before gives.
DrawnPlan draw_plan(Words& words, const DrawOptions& options);

/// The names of all that can be drawn.
std::vector<std::string> drawable_operations();

}  // namespace infeed::test
