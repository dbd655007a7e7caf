#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

#include "pipeline/drawn_pipeline.h"
#include "pipeline/drawn_pipeline_builder.h"
#include "pipeline/drawn_pipeline_model.h"
#include "pipeline/executors.h"
#include "pipeline/stream.h"

// drawn_corpus.jsonl holds pipelines with what the real tf.data made of them, three iterations
// each: tests/interop/test_pipelines.py wrote it (INFEED_CORPUS).

namespace infeed::test {
namespace {

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

TEST(DrawnCorpus, GivesWhatTensorFlowGave) {
  std::ifstream lines(INFEED_DRAWN_CORPUS);
  ASSERT_TRUE(lines) << INFEED_DRAWN_CORPUS;
  RandomSource random;
  const Executors executors;
  int pipelines = 0;
  for (std::string line; std::getline(lines, line); ++pipelines) {
    SCOPED_TRACE("line " + std::to_string(pipelines + 1) + ": " + line);
    const nlohmann::json saved = nlohmann::json::parse(line);
    const DrawnPipeline drawn = pipeline_from(saved.at("pipeline"));
    const auto dataset = build_pipeline(drawn, random.chance(0.5) ? random() | 1 : 0);
    for (std::uint64_t epoch = 0; epoch < saved.at("streams").size(); ++epoch) {
      const Stream expected = saved.at("streams")[epoch];
      ASSERT_EQ(stream_of(dataset, {.executor = executors.any(random).executor}), expected);
      ASSERT_EQ(model_of_pipeline(drawn, epoch), expected);
    }
  }
  EXPECT_GE(pipelines, 400);
}

}  // namespace
}  // namespace infeed::test
