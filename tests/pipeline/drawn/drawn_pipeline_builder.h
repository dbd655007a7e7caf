#pragma once

#include <infeed/pipeline/dataset.h>

#include "pipeline/drawn/drawn_pipeline.h"

namespace infeed::test {

/// Builds the pipeline of our stages. With `recut_seed` other than 0, stages that cut chunks at
/// random stand between them.
Dataset<std::int64_t> build_pipeline(const DrawnPipeline& drawn, std::uint64_t recut_seed = 0);

/// Builds the same stages, without the source, behind `dataset`.
Dataset<std::int64_t> extend_pipeline(Dataset<std::int64_t> dataset, const DrawnPipeline& drawn,
                                      std::uint64_t recut_seed = 0);

}  // namespace infeed::test
