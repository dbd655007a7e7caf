#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/suite/stream.h"

namespace infeed::test {

/// Returns iteration `epoch` of the pipeline: each stage is a loop over the whole output list of
/// the stage before. It uses nothing of infeed's engine but Philox, which has known answers.
Stream model_of_pipeline(const DrawnPipeline& drawn, std::uint64_t epoch);

/// The same, but nothing if a skip_errors meets only errors in a pass: then it fails for good.
std::optional<Stream> model_unless_all_fails(const DrawnPipeline& drawn, std::uint64_t epoch);

/// A drawn pipeline and three iterations of it.
struct ModelledPipeline {
  DrawnPipeline drawn;
  std::vector<Stream> streams;
};

/// Draws a pipeline that has streams (model_unless_all_fails), none longer than `elements_max`.
ModelledPipeline draw_modelled_pipeline(SeededRandom& random, std::size_t elements_max);

}  // namespace infeed::test
