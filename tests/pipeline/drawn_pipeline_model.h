#pragma once

#include "pipeline/drawn_pipeline.h"
#include "pipeline/stream.h"

namespace infeed::test {

/// What iteration `epoch` of the pipeline gives: each stage as a loop over the whole list of what
/// the stage before gives. Nothing of infeed's engine but Philox, which has known answers.
Stream model_of_pipeline(const DrawnPipeline& drawn, std::uint64_t epoch);

}  // namespace infeed::test
