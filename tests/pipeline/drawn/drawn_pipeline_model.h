#pragma once

#include <optional>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/suite/stream.h"

namespace infeed::test {

/// What iteration `epoch` of the pipeline gives: each stage as a loop over the whole list of what
/// the stage before gives. Nothing of infeed's engine but Philox, which has known answers.
Stream model_of_pipeline(const DrawnPipeline& drawn, std::uint64_t epoch);

/// The same, but nothing where a skip_errors finds nothing but errors in a pass: it fails for good.
std::optional<Stream> model_unless_all_fails(const DrawnPipeline& drawn, std::uint64_t epoch);

/// Whether two passes over it may differ: a shuffle may draw anew.
bool reshuffles(const DrawnPipeline& drawn);

}  // namespace infeed::test
