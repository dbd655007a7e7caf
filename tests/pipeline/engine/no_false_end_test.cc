#include <algorithm>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include <infeed/infeed.h>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/drawn/drawn_pipeline_builder.h"
#include "pipeline/suite/busy.h"
#include "pipeline/suite/executors.h"
#include "pipeline/suite/terminal.h"

// Endless drawn pipelines that are cancelled and that stall, at random moments: whatever their
// stages and threads do then, next() never reports the end of the data.

namespace infeed::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t kElementsCompared = 200;

bool ends_a_stream(const DrawnStage& stage) {
  const auto is = [&](std::string_view op) { return stage.op == op; };
  return is("take") || is("take_while") || is("repeat_take") || is("zip") ||
         (is("repeat") && stage.at("count") == 0) || (is("skip") && stage.at("count") < 0);
}

/// Draws stages, none of which ends an endless stream.
DrawnPipeline draw_endless_stages(SeededRandom& random) {
  DrawnPipeline drawn = draw_pipeline(random, 6);
  std::erase_if(drawn.stages, ends_a_stream);
  for (int more = 0; more < 2; ++more) {
    const auto at = static_cast<std::ptrdiff_t>(1 + random.below(drawn.stages.size()));
    const DrawnStage prefetch{.op = "prefetch", .parameters = {{"depth", random.between(1, 4)}}};
    const DrawnStage map{
        .op = "map",
        .parameters = {{"multiply", 1}, {"add", 0}, {"parallelism", random.between(2, 4)}}};
    drawn.stages.insert(drawn.stages.begin() + at, random.chance(0.5) ? prefetch : map);
  }
  return drawn;
}

/// Delays of the function in front of the drawn stages.
struct Pace {
  std::int64_t every = 1;  ///< one in so many calls is slow
  microseconds time{0};
};

/// Passes of a range, a slow map, the drawn stages, and perhaps batch and prefetch.
struct Endless {
  DrawnPipeline drawn;
  std::int64_t pass;  ///< elements of the range
  int parallelism;
  Pace pace;
  bool batches;

  static Endless draw(SeededRandom& random, const Pace& pace) {
    return {draw_endless_stages(random), random.between(1, 600),
            static_cast<int>(random.between(1, 3)), pace, random.chance(0.5)};
  }

  Dataset<std::int64_t> build(bool paced) const {
    const auto slow = [pace = paced ? pace : Pace{}](std::int64_t x) {
      if (pace.time.count() > 0 && x % pace.every == 0) be_busy_for(pace.time);
      return x;
    };
    const auto dataset =
        extend_pipeline(range(pass) | repeat() | map(slow, {.parallelism = parallelism}), drawn);
    if (!batches) return dataset;
    return dataset | batch(4) |
           map([](const Batch<std::int64_t>& rows) { return rows.values()[0]; }) | prefetch();
  }
};

/// Takes until the terminal error; its first elements must be those of an uninterrupted run.
Error take_until_stopped(const Endless& endless, Iterator<std::int64_t>& iterator) {
  const Failed failed = take_until_terminal(iterator, std::size_t{1} << 40);
  const std::size_t count = std::min(failed.stream.size(), kElementsCompared);
  EXPECT_EQ(stream_of(endless.build(false), {.executor = Executor::inline_(), .epoch = 0}, count),
            Stream(failed.stream.begin(), failed.stream.begin() + std::ptrdiff_t(count)));
  EXPECT_EQ(iterator.memory().in_use_bytes(), 0);
  return failed.error;
}

TEST(NoFalseEnd, OfAThousandCancellations) {
  SeededRandom random;
  const Executors executors;
  for (int round = 0; round < 1200; ++round) {
    const Endless endless = Endless::draw(
        random,
        {random.between(1, 50), microseconds(random.below(random.chance(0.3) ? 1000 : 60))});
    const NamedExecutor& executor = executors.any(random);
    SCOPED_TRACE("round " + std::to_string(round) + ", executor " + executor.name +
                 ", behind a pass of " + std::to_string(endless.pass) + ": " +
                 endless.drawn.to_json());
    auto iterator = endless.build(true).iterate({.executor = executor.executor, .epoch = 0});
    const auto pause = microseconds(random.below(random.chance(0.5) ? 100 : 2000));
    std::thread canceller([&iterator, pause] {
      be_busy_for(pause);
      iterator.cancel();
    });
    const Error error = take_until_stopped(endless, iterator);
    canceller.join();
    ASSERT_EQ(error.code(), ErrorCode::cancelled) << error.what();
    if (HasFailure()) return;
  }
}

TEST(NoFalseEnd, OfAThousandTimeOuts) {
  SeededRandom random(1);
  const Executors executors;
  int timed_out = 0;  // the others are cancelled first
  for (int round = 0; round < 1000 || (timed_out < 300 && round < 10'000); ++round) {
    const auto limit = milliseconds(random.between(1, 3));
    const Endless endless = Endless::draw(
        random,
        {random.between(1, 300), microseconds(1000 * random.between(1, 3) * limit.count())});
    const NamedExecutor& executor = executors.any(random);
    SCOPED_TRACE("round " + std::to_string(round) + ", executor " + executor.name +
                 ", behind a pass of " + std::to_string(endless.pass) + ": " +
                 endless.drawn.to_json());
    auto iterator =
        endless.build(true).iterate({.executor = executor.executor, .epoch = 0, .watchdog = limit});
    // The consumer doesn't wait for every stall.
    std::promise<void> stopped;
    std::thread canceller([&iterator, over = stopped.get_future()] {
      if (over.wait_for(milliseconds(8)) == std::future_status::timeout) iterator.cancel();
    });
    const Error error = take_until_stopped(endless, iterator);
    stopped.set_value();
    canceller.join();
    timed_out += error.code() == ErrorCode::deadline_exceeded ? 1 : 0;
    if (error.code() != ErrorCode::deadline_exceeded) {
      ASSERT_EQ(error.code(), ErrorCode::cancelled) << error.what();
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(timed_out, 300);
}

}  // namespace
}  // namespace infeed::test
