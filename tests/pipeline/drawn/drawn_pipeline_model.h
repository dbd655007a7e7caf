#pragma once

#include <optional>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/suite/stream.h"

namespace infeed::test {

/// Returns iteration `epoch` of the pipeline: each stage is a loop over the whole output list of
/// the stage before. It uses nothing of infeed's engine but Philox, which has known answers.
Stream model_of_pipeline(const DrawnPipeline& drawn, std::uint64_t epoch);

/// The same, but nothing if a skip_errors meets only errors in a pass: then it fails for good.
std::optional<Stream> model_unless_all_fails(const DrawnPipeline& drawn, std::uint64_t epoch);

/// True if two passes may differ: a shuffle may draw anew.
bool reshuffles(const DrawnPipeline& drawn);

}  // namespace infeed::test
