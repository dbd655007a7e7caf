#pragma once

#include "pipeline/drawn_whole/kinds.h"
#include "pipeline/drawn_whole/plan.h"
#include "pipeline/drawn_whole/words.h"

namespace infeed::test {

/// Limits of the drawing.
struct DrawOptions {
  std::int64_t elements_max = 1500;
  int stages_max = 8;
  /// True: each stage that draws is given a seed. False: stages draw their own when they are
  /// described, and only a checkpoint brings the same order again.
  bool has_seeds = true;
  /// True: some elements have up to a megabyte.
  bool is_fat = false;
  /// True: stages may give their elements as they are ready; then only their set is known.
  bool may_be_unordered = false;
};

struct DrawnPlan {
  Plan plan;
  bool is_unordered = false;
};

/// Draws a source and stages behind it, each of which takes the elements of the one before.
DrawnPlan draw_plan(Words& words, const DrawOptions& options);

}  // namespace infeed::test
