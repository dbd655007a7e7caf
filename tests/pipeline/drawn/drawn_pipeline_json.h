#pragma once

#include <nlohmann/json.hpp>

#include "pipeline/drawn/drawn_pipeline.h"

namespace infeed::test {

/// What DrawnPipeline::to_json() wrote.
DrawnPipeline pipeline_from(const nlohmann::json& json);

}  // namespace infeed::test
