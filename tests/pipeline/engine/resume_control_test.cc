#include <stop_token>
#include <thread>

#include <infeed/pipeline/filter.h>
#include <infeed/pipeline/map.h>

#include "pipeline/suite/test_sources.h"
#include "quiet_run.h"
#include "thrown_error.h"

// A resume that can't seek may take as long as the run did. It can be ended, watched and traced.
namespace infeed::test {
namespace {

Checkpoint at(const Dataset<std::int64_t>& dataset, std::uint64_t position) {
  Checkpoint checkpoint = dataset.iterate().checkpoint();
  checkpoint.position = position;
  return checkpoint;
}

/// Resumes behind 10 elements of a source that gives five.
Dataset<std::int64_t> stuck(Gate& gate) {
  gate.release(5);
  return gated<std::int64_t>(plain_slots(20), gate) | filter([](std::int64_t) { return true; });
}

TEST(ResumeControl, AStopEndsAResume) {
  Gate gate;
  const auto dataset = stuck(gate);
  std::stop_source stop;
  std::jthread stopper([&] {
    gate.wait_until_asked();
    stop.request_stop();
  });
  const Error error =
      error_of([&] { dataset.iterate({.resume = at(dataset, 10), .stop = stop.get_token()}); });
  EXPECT_EQ(error.code(), ErrorCode::cancelled);
  EXPECT_EQ(error.message(), "the iterator was cancelled while it resumed");
  EXPECT_EQ(gate.stages(), 0);
}

TEST(ResumeControl, AStopEndsAnIterationToo) {
  Gate gate;
  std::stop_source stop;
  auto iterator = stuck(gate).iterate({.stop = stop.get_token()});
  EXPECT_EQ(take_stream(iterator, 5).size(), 5);
  stop.request_stop();
  EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::cancelled);
}

TEST(ResumeControl, AResumeIsWatched) {
  Gate gate;
  const auto dataset = stuck(gate);
  // On a busy machine it may take longer to come to where it is stuck.
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    const Error error = error_of([&] {
      dataset.iterate({.resume = at(dataset, 10), .watchdog = std::chrono::milliseconds(20)});
    });
    EXPECT_EQ(error.code(), ErrorCode::deadline_exceeded);
    return error.message().find("the consumer waits for filter; filter waits for listed") !=
           std::string::npos;
  }));
}

TEST(ResumeControl, AResumeThatReplaysSaysHowFarItIs) {
  Gate gate;
  const auto dataset = stuck(gate);
  std::vector<ResumeProgress> told;
  IterateOptions options{.resume = at(dataset, 10)};
  options.on_resume_every = std::chrono::milliseconds(1);
  options.on_resume = [&](const ResumeProgress& progress) {
    told.push_back(progress);
    if (progress.elements_replayed >= 5) gate.release(20);
  };
  auto iterator = dataset.iterate(std::move(options));
  EXPECT_EQ(iterator.next(), 10);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().position, 10);
  EXPECT_GE(told.back().elements_replayed, 5);
}

TEST(ResumeControl, AResumeThatTakesLongSaysMoreThanOnceHowFarItIs) {
  Gate gate;
  const auto dataset = stuck(gate);
  int told = 0;
  IterateOptions options{.resume = at(dataset, 10)};
  options.on_resume_every = std::chrono::milliseconds(1);
  options.on_resume = [&](const ResumeProgress&) {
    if (++told == 3) gate.release(20);
  };
  EXPECT_EQ(dataset.iterate(std::move(options)).next(), 10);
  EXPECT_GE(told, 3);
}

struct OwnError : std::runtime_error {
  using std::runtime_error::runtime_error;
  int number = 7;
};

TEST(Cause, AUsersExceptionKeepsItsType) {
  for (const int parallelism : {1, 2}) {
    const auto dataset =
        listed<std::int64_t>(plain_slots(3)) |
        map([](std::int64_t x) -> std::int64_t { throw OwnError("no " + std::to_string(x)); },
            {.parallelism = parallelism});
    auto iterator = dataset.iterate();
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_EQ(error.code(), ErrorCode::user_function);
    EXPECT_EQ(error.message(), "no 0");
    ASSERT_NE(error.cause(), nullptr);
    try {
      std::rethrow_exception(error.cause());
    } catch (const OwnError& own) {
      EXPECT_EQ(own.number, 7);
    }
    EXPECT_FALSE(error.is_terminal());
    EXPECT_EQ(error_of([&] { iterator.next(); }).message(), "no 1");
  }
}

TEST(Cause, AnErrorOfOursHasNone) {
  const auto dataset = failing_range(3, 0);
  auto iterator = dataset.iterate();
  EXPECT_EQ(error_of([&] { iterator.next(); }).cause(), nullptr);
}

}  // namespace
}  // namespace infeed::test
