#include "pipeline/drawn/drawn_pipeline_json.h"

#include <utility>

namespace infeed::test {

DrawnPipeline pipeline_from(const nlohmann::json& json) {
  DrawnPipeline pipeline;
  for (const nlohmann::json& item : json.at("stages")) {
    DrawnStage stage;
    for (const auto& [key, value] : item.items()) {
      if (key == "op") {
        stage.op = value;
      } else if (key == "other") {
        stage.other = pipeline_from(value).stages;
      } else {
        stage.parameters[key] = value;
      }
    }
    pipeline.stages.push_back(std::move(stage));
  }
  return pipeline;
}

}  // namespace infeed::test
