#include <algorithm>
#include <string>
#include <vector>

#include <infeed/infeed.h>

#include "thrown_error.h"

// Pipelines of very many stages: each function of a stage calls that of its input.
namespace infeed::test {
namespace {

constexpr int kStagesMax = 3200;

Dataset<std::int64_t> with_stages(int count) {
  auto dataset = range(5);
  for (int i = 1; i < count; ++i) {
    dataset = i % 2 == 0 ? dataset | take(4) : dataset | map([](std::int64_t x) { return x + 1; });
  }
  return dataset;
}

TEST(DeepPipeline, RunsAndResumesAtTheLimit) {
  const auto dataset = with_stages(kStagesMax);
  constexpr std::int64_t kMaps = kStagesMax / 2;
  auto iterator = dataset.iterate();
  EXPECT_EQ(iterator.next(), kMaps);
  const Checkpoint checkpoint = iterator.checkpoint();
  const PipelineStatistics statistics = iterator.statistics();
  EXPECT_EQ(statistics.stages.size(), kStagesMax);
  EXPECT_EQ(statistics.stages.back().depth, kStagesMax - 1);
  EXPECT_FALSE(statistics.table().empty());
  EXPECT_EQ(dataset.cardinality(), Cardinality::finite(4));
  EXPECT_EQ(dataset.collect({.resume = checkpoint}),
            (std::vector<std::int64_t>{kMaps + 1, kMaps + 2, kMaps + 3}));
}

TEST(DeepPipeline, BeyondTheLimitIsRefusedWhenDescribed) {
  const auto dataset = with_stages(kStagesMax);
  for (const Error& error : {error_of([&] { dataset | take(1); }),
                             error_of([&] { range(1) | concatenate(dataset) | take(1); })}) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(error.message().find("it would be stage 3201 in a row, and 3200 is the limit"),
              std::string::npos)
        << error.message();
    EXPECT_NE(error.message().find("flat_map()"), std::string::npos) << error.message();
  }
}

TEST(DeepPipeline, PathsNameTheLastStagesOnly) {
  auto iterator = with_stages(100).iterate();
  const PipelineStatistics statistics = iterator.statistics();
  const auto& stages = statistics.stages;
  EXPECT_EQ(stages[1].path, "map[50] < take[49]");
  EXPECT_EQ(std::count(stages[63].path.begin(), stages[63].path.end(), '<'), 63);
  EXPECT_TRUE(stages[63].path.starts_with("map[50] < take[49] < ")) << stages[63].path;
  EXPECT_TRUE(stages[64].path.starts_with("(1 stages) < take[49] < ")) << stages[64].path;
  EXPECT_TRUE(stages[99].path.starts_with("(36 stages) < ")) << stages[99].path;
  EXPECT_TRUE(stages[99].path.ends_with(" < take[1] < map[1] < range")) << stages[99].path;
}

}  // namespace
}  // namespace infeed::test
