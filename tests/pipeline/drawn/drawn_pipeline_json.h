#pragma once

#include <nlohmann/json.hpp>

#include "pipeline/drawn/drawn_pipeline.h"

namespace infeed::test {

/// Reads the text of DrawnPipeline::to_json().
DrawnPipeline pipeline_from(const nlohmann::json& json);

}  // namespace infeed::test
