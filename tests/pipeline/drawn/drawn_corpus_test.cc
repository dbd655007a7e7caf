#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/drawn/drawn_pipeline_builder.h"
#include "pipeline/drawn/drawn_pipeline_model.h"
#include "pipeline/suite/executors.h"
#include "pipeline/suite/stream.h"

// drawn_corpus.jsonl holds pipelines with the real tf.data's results, three iterations each:
// tests/interop/test_pipelines.py wrote it (INFEED_CORPUS).

namespace infeed::test {
namespace {

/// Reads what DrawnPipeline::to_json() writes.
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
  SeededRandom random;
  const Executors executors;
  int pipelines = 0;
  for (std::string line; std::getline(lines, line);) {
    SCOPED_TRACE(line);
    const nlohmann::json saved = nlohmann::json::parse(line);
    const DrawnPipeline drawn = pipeline_from(saved.at("pipeline"));
    // tf.data's ignore_errors leaves out all errors; skip_errors fails if there is nothing else.
    if (!model_unless_all_fails(drawn, 0)) continue;
    ++pipelines;
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
