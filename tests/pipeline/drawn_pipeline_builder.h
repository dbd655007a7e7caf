#pragma once

#include <infeed/pipeline/dataset.h>

#include "pipeline/drawn_pipeline.h"

namespace infeed::test {

/// The pipeline made of our stages. With `recut_seed` other than 0, stages that cut chunks at
/// random stand between them.
Dataset<std::int64_t> build_pipeline(const DrawnPipeline& drawn, std::uint64_t recut_seed = 0);

}  // namespace infeed::test
