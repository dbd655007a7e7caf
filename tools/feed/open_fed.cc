#include "feed/open_fed.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include <infeed/error.h>

#include "profile/described_pipeline.h"

namespace infeed::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTraining = "training";

}  // namespace

std::string text_of_training(const PipelineOptions& options, const Tricks& tricks) {
  const Json training = {{"shards", options.shards},
                         {"seed", options.seed},
                         {"batch", options.batch},
                         {"first", options.rows().first},
                         {"rows", options.rows().rows},
                         {"parallel_interleave", tricks.parallel_interleave},
                         {"parallel_map", tricks.parallel_map},
                         {"cache", tricks.cache},
                         {"prefetch", tricks.prefetch},
                         {"by_hand", tricks.by_hand}};
  return Json{{kTraining, training}}.dump();
}

Dataset<ColumnBatch> open_fed(const World&, const std::string& pipeline) {
  const Json json = Json::parse(pipeline, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains(kTraining)) {
    return DescribedPipeline::parse(pipeline, "the trainer's pipeline").dataset();
  }
  try {
    const Json& training = json.at(kTraining);
    const auto batch = training.at("batch").get<std::int64_t>();
    return columns_of(
        training_pipeline({.shards = training.at("shards").get<std::vector<std::string>>(),
                           .seed = training.at("seed").get<std::uint64_t>(),
                           .batch = batch,
                           .own = RowShare{.batch = batch,
                                           .first = training.at("first").get<std::int64_t>(),
                                           .rows = training.at("rows").get<std::int64_t>()}},
                          {.parallel_interleave = training.at("parallel_interleave").get<bool>(),
                           .parallel_map = training.at("parallel_map").get<bool>(),
                           .cache = training.at("cache").get<bool>(),
                           .prefetch = training.at("prefetch").get<bool>(),
                           .by_hand = training.at("by_hand").get<bool>()}));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("feed: the trainer's pipeline can't be read: {}; do all ranks run the "
                            "same version of infeed?",
                            error.what()));
  }
}

}  // namespace infeed::tools
