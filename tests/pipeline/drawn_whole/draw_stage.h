#pragma once

#include <optional>
#include <vector>

#include "pipeline/drawn_whole/draw_plan.h"

/// The parts of draw_plan(): one source, one stage.
namespace infeed::test {

/// All that is known of the stream at the end of the stages drawn so far.
struct DrawState {
  Kind kind = Kind::integer;
  std::int64_t count_max = 0;  ///< elements of a pass, at most
  std::int64_t elements_bound = 0;
  bool is_endless = false;
  bool is_indexable = false;  ///< as global_shuffle needs it
  bool is_unordered = false;
  bool is_inner = false;  ///< inside a flat_map or interleave
};

Step draw_source(Words& words, const DrawOptions& options, DrawState& state);
/// One that the elements can go through. Its inputs, where it has some, are the caller's to add.
Step draw_stage(Words& words, const DrawOptions& options, DrawState& state);
/// Those that lead to elements of that kind; none where they are of it.
std::vector<Step> steps_to(Words& words, const DrawOptions& options, Kind wanted, DrawState& state);

bool is_combining(std::string_view op);
bool is_nesting(std::string_view op);

/// 1, a few, or autotune.
std::int64_t draw_parallelism(Words& words);
/// 0 where the stage shall draw its own.
std::int64_t draw_seed(Words& words, const DrawOptions& options);

}  // namespace infeed::test
