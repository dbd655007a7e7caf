#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/drawn/drawn_pipeline_builder.h"
#include "pipeline/drawn/drawn_pipeline_model.h"
#include "pipeline/suite/executors.h"
#include "pipeline/suite/stream.h"

namespace infeed::test {
namespace {

/// A cardinality holds for streams without failures.
bool can_fail(const DrawnPipeline& drawn) {
  return std::any_of(drawn.stages.begin(), drawn.stages.end(), [](const DrawnStage& stage) {
    return stage.op.find("fail") != std::string::npos ||
           (!stage.other.empty() && can_fail({stage.other}));
  });
}

Stream behind(const Stream& stream, std::size_t place) {
  return {stream.begin() + static_cast<std::ptrdiff_t>(place), stream.end()};
}

TEST(RandomPipelines, GiveWhatTheModelGives) {
  SeededRandom random;
  const Executors executors;
  for (int round = 0; round < 1500; ++round) {
    const ModelledPipeline drawn = draw_modelled_pipeline(random, 3000);
    SCOPED_TRACE("pipeline " + std::to_string(round) + ": " + drawn.drawn.to_json());
    const auto dataset = build_pipeline(drawn.drawn, random.chance(0.5) ? random() | 1 : 0);
    for (const Stream& expected : drawn.streams) {
      const NamedExecutor& executor = executors.any(random);
      SCOPED_TRACE("executor " + executor.name);
      auto iterator = dataset.iterate({.executor = executor.executor});
      ASSERT_EQ(take_stream(iterator, expected.size() + 3), expected);
      ASSERT_FALSE(iterator.next().has_value());
      ASSERT_EQ(iterator.memory().in_use_bytes(), 0);
      if (dataset.cardinality().is_finite() && !can_fail(drawn.drawn)) {
        ASSERT_EQ(dataset.cardinality().count(), expected.size());
      }
    }
  }
}

TEST(RandomPipelines, GoOnExactlyAtRandomSteps) {
  SeededRandom random(1);
  const Executors executors;
  for (int round = 0; round < 1200; ++round) {
    const ModelledPipeline drawn = draw_modelled_pipeline(random, 3000);
    SCOPED_TRACE("pipeline " + std::to_string(round) + ": " + drawn.drawn.to_json());
    const std::uint64_t epoch = random.below(drawn.streams.size());
    const Stream& expected = drawn.streams[epoch];
    const auto make = [&] {
      return build_pipeline(drawn.drawn, random.chance(0.5) ? random() | 1 : 0);
    };
    std::string text;
    {
      auto iterator = make().iterate({.executor = executors.any(random).executor,
                                      .epoch = epoch,
                                      .bookmark_every = random.below(30)});
      const Stream begin = take_stream(iterator, random.below(expected.size() + 1));
      ASSERT_EQ(begin, Stream(expected.begin(), expected.begin() + std::ssize(begin)));
      text = iterator.checkpoint().to_text();
    }
    // Some more crashes on the way.
    for (std::uint64_t crashes = random.below(4);; --crashes) {
      const Checkpoint checkpoint = Checkpoint::from_text(text);
      SCOPED_TRACE("resumed at " + std::to_string(checkpoint.position));
      auto resumed = make().iterate({.resume = checkpoint,
                                     .executor = executors.any(random).executor,
                                     .bookmark_every = random.below(30)});
      const Stream rest = behind(expected, static_cast<std::size_t>(checkpoint.position));
      if (crashes == 0) {
        ASSERT_EQ(take_stream(resumed, rest.size() + 3), rest);
        break;
      }
      const std::size_t more = random.below(rest.size() + 1);
      ASSERT_EQ(take_stream(resumed, more),
                Stream(rest.begin(), rest.begin() + std::ptrdiff_t(more)));
      text = resumed.checkpoint().to_text();
    }
  }
}

TEST(RandomPipelines, AreOfAllStages) {
  SeededRandom random(2);
  std::map<std::string, int> drawn;
  for (int round = 0; round < 1000; ++round) {
    for (const DrawnStage& stage : draw_pipeline(random, 7).stages) ++drawn[stage.op];
  }
  for (const std::string& name : drawn_operations()) EXPECT_GE(drawn[name], 20) << name;
}

TEST(RandomPipelines, HaveADescriptionThatOthersCanRead) {
  const DrawnPipeline pipeline{{{"range", {{"count", 3}, {"start", 0}, {"step", 1}}},
                                {"zip", {}, {{"range", {{"count", 2}, {"start", 5}, {"step", 1}}}}},
                                {"take", {{"count", 1}}}}};
  EXPECT_EQ(pipeline.to_json(),
            R"({"stages": [{"op": "range", "count": 3, "start": 0, "step": 1}, {"op": "zip", )"
            R"("other": {"stages": [{"op": "range", "count": 2, "start": 5, "step": 1}]}}, )"
            R"({"op": "take", "count": 1}]})");
}

}  // namespace
}  // namespace infeed::test
