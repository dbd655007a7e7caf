#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pipeline/drawn_whole/draw_plan.h"

/// The parts of draw_plan(): one source, one stage.
namespace infeed::test {

/// Numbers of a step by name, which later ones extend.
using Drawn = std::map<std::string, std::int64_t>;

/// The known properties of the stream behind the stages drawn so far.
struct DrawState {
  Kind kind = Kind::integer;
  std::int64_t count_max = 0;  ///< most elements of a pass
  std::int64_t elements_bound = 0;
  bool is_endless = false;
  bool is_indexable = false;  ///< global_shuffle can take it
  bool is_unordered = false;
  bool is_inner = false;  ///< inside a flat_map or interleave
};

Step draw_source(Words& words, const DrawOptions& options, DrawState& state);
/// Draws a stage that the elements can go through. The caller adds its inputs, if it has some.
Step draw_stage(Words& words, const DrawOptions& options, DrawState& state);
/// Draws steps that lead to elements of that kind; none if they are of it already.
std::vector<Step> steps_to(Words& words, const DrawOptions& options, Kind wanted, DrawState& state);

bool is_combining(std::string_view op);
bool is_nesting(std::string_view op);

/// Draws 1, a few, or autotune.
std::int64_t draw_parallelism(Words& words);
/// Draws a seed; 0 if the stage shall draw its own.
std::int64_t draw_seed(Words& words, const DrawOptions& options);

}  // namespace infeed::test
