#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <infeed/infeed.h>

#include "pipeline/suite/busy.h"
#include "pipeline/suite/consumer.h"
#include "pipeline/suite/executors.h"
#include "pipeline/suite/inner_sources.h"
#include "pipeline/suite/terminal.h"
#include "thrown_error.h"

// A terminal error (cancelled, a deadline, memory refused, a stage's own failure) passes every
// stage, queue and skip_errors unchanged; the end is only ever the end of the data.

namespace infeed::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// An endless stream through a parallel map that takes its time, a batch and a queue.
auto endless(microseconds time) {
  return range(1000) | repeat() |
         map(
             [time](std::int64_t x) {
               be_busy_for(time);
               return x;
             },
             {.parallelism = 2}) |
         batch(4) | prefetch();
}

std::vector<std::shared_ptr<Executor>> executors_that_map_in_parallel() {
  std::vector<std::shared_ptr<Executor>> executors = {nullptr, Executor::threads(2)};
  if (!kTbbIsTested) executors.erase(executors.begin());
  return executors;
}

TEST(TerminalErrors, AStalledRunIsNotTheEnd) {
  for (const auto& executor : executors_that_map_in_parallel()) {
    for (int round = 0; round < 60; ++round) {
      SCOPED_TRACE(round);
      auto iterator =
          endless(microseconds(6000)).iterate({.executor = executor, .watchdog = milliseconds(2)});
      const Failed failed = take_until_terminal(iterator, 5000);  // a minute of them
      ASSERT_EQ(failed.error.code(), ErrorCode::deadline_exceeded) << failed.error.what();
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
  }
}

TEST(TerminalErrors, ACancelledRunIsNotTheEnd) {
  SeededRandom random;
  for (const auto& executor : executors_that_map_in_parallel()) {
    for (int round = 0; round < 150; ++round) {
      SCOPED_TRACE(round);
      auto iterator = endless(microseconds(random.below(1500))).iterate({.executor = executor});
      const auto pause = microseconds(random.below(4000));
      std::thread canceller([&iterator, pause] {
        be_busy_for(pause);
        iterator.cancel();
      });
      const Failed failed = take_until_terminal(iterator);
      canceller.join();
      ASSERT_EQ(failed.error.code(), ErrorCode::cancelled) << failed.error.what();
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
  }
}

TEST(TerminalErrors, AUsersOwnCancelledIsAnElementsError) {
  for (const int parallelism : {1, 3}) {
    const auto fails = [](std::int64_t x) {
      if (x == 3) throw Error(ErrorCode::cancelled, "the server hung up");
      return x;
    };
    auto iterator = (range(6) | map(fails, {.parallelism = parallelism}) | prefetch()).iterate();
    for (std::int64_t x = 0; x < 6; ++x) {
      if (x != 3) {
        EXPECT_EQ(iterator.next(), x);
        continue;
      }
      const Error error = error_of([&] { iterator.next(); });
      EXPECT_EQ(error.code(), ErrorCode::user_function);
      EXPECT_THAT(error.what(), HasSubstr("the server hung up"));
    }
    EXPECT_FALSE(iterator.next());
    EXPECT_EQ(stream_of(range(6) | map(fails, {.parallelism = parallelism}) | skip_errors()),
              numbers({0, 1, 2, 4, 5}));
  }
}

class OwnErrorOfUser : public Error {
 public:
  OwnErrorOfUser() : Error(ErrorCode::not_found, "a user's own") {}
};

TEST(CurrentError, IsWhatTheFunctionThrewAsAnElementsError) {
  const auto caught = [](const auto& thrown) {
    try {
      throw thrown;
    } catch (...) {
      return current_error();
    }
  };
  Error terminal(ErrorCode::data_loss, "damaged");
  terminal.as_terminal();
  struct Case {
    ErrorPointer error;
    ErrorCode code;
    std::string message;
    bool has_cause;
  };
  for (const Case& expected :
       {Case{caught(7), ErrorCode::user_function, "threw something that is not a std::exception",
             true},
        Case{caught(std::runtime_error("no")), ErrorCode::user_function, "no", true},
        Case{caught(std::bad_alloc()), ErrorCode::user_function,
             "found no memory; use fewer threads, smaller buffers, or a machine with more", true},
        Case{caught(Error(ErrorCode::cancelled, "hung up")), ErrorCode::user_function, "hung up",
             false},
        Case{caught(terminal), ErrorCode::data_loss, "damaged", false},
        Case{caught(OwnErrorOfUser()), ErrorCode::not_found, "a user's own", true}}) {
    SCOPED_TRACE(expected.message);
    EXPECT_EQ(expected.error->code(), expected.code);
    EXPECT_EQ(expected.error->message(), expected.message);
    EXPECT_FALSE(expected.error->is_terminal());
    EXPECT_EQ(expected.error->cause() != nullptr, expected.has_cause);
  }
}

TEST(ErrorOfOpening, IsAnElementsUnlessMemoryWasRefused) {
  const auto opening = [](ErrorCode code) {
    try {
      throw Error(code, "it can't be opened");
    } catch (...) {
      return detail::error_of_opening();
    }
  };
  EXPECT_EQ(opening(ErrorCode::not_found)->message(), "it can't be opened");
  EXPECT_EQ(error_of([&] { opening(ErrorCode::resource_exhausted); }).code(),
            ErrorCode::resource_exhausted);
}

TEST(TerminalErrors, ACancellationSaysHowFarItCame) {
  auto iterator =
      listed<std::int64_t>(plain_slots(9), {.kind = Cut::Kind::single, .seed = 1}).iterate();
  for (int i = 0; i < 3; ++i) iterator.next();
  iterator.cancel();
  EXPECT_EQ(error_of([&] { iterator.next(); }).message(),
            "the iterator was cancelled after 3 elements");
}

// --- Memory that is refused ----------------------------------------------------------------------

std::string ten_kilobytes(std::int64_t x) { return std::string(10'000, 'x') + std::to_string(x); }

TEST(TerminalErrors, AShuffleThatOutgrowsItsMemoryIsNotTheEnd) {
  // Elements are compared by their numbers: texts would be a gigabyte.
  const auto make = [](bool skips, int parallelism) {
    const auto shuffled = range(12'000) | map(ten_kilobytes, {.parallelism = parallelism}) |
                          shuffle({.buffer = 6'000, .seed = 1}) | prefetch();
    const auto number =
        map([](const std::string& text) { return std::stoll(text.substr(10'000)); });
    return skips ? shuffled | skip_errors() | number : shuffled | number;
  };
  for (const bool skips : {false, true}) {
    for (const int parallelism : {1, 2}) {
      SCOPED_TRACE(std::string(skips ? "skip_errors" : "bare") + " parallelism " +
                   std::to_string(parallelism));
      auto iterator = make(skips, parallelism).iterate({.memory_bytes_max = 16 << 20});
      const Failed failed = take_until_terminal(iterator);
      EXPECT_EQ(failed.error.code(), ErrorCode::resource_exhausted);
      EXPECT_THAT(failed.error.message(), StartsWith("shuffle needs "));
      EXPECT_EQ(failed.stream, Stream());
    }
  }
}

/// 0 .. 99 through unique, which remembers all of them and so outgrows a small limit.
template <class Behind>
void expect_that_unique_fails(const Behind& behind) {
  const auto make = [&] { return behind(range(100) | unique()); };
  Stream expected;
  for (int x = 0; x < 100; ++x) expected.push_back(std::to_string(x));
  const Executors executors;
  for (const NamedExecutor& executor : executors.all()) {
    SCOPED_TRACE(executor.name);
    const Error error = expect_terminal_and_the_rest(
        make, {.memory_bytes_max = 4096, .executor = executor.executor}, expected);
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
    EXPECT_THAT(error.message(), StartsWith("unique needs "));
  }
}

TEST(TerminalErrors, ASetThatOutgrowsItsMemoryIsNotTheEnd) {
  const auto same = [](std::int64_t x) { return x; };
  expect_that_unique_fails([](const auto& d) { return d; });
  expect_that_unique_fails([](const auto& d) { return d | prefetch(2); });
  expect_that_unique_fails([](const auto& d) { return d | skip_errors(); });
  expect_that_unique_fails([](const auto& d) { return d | prefetch(2) | skip_errors(); });
  for (int round = 0; round < 10; ++round) {
    expect_that_unique_fails([&](const auto& d) { return d | map(same, {.parallelism = 2}); });
    expect_that_unique_fails(
        [&](const auto& d) { return d | map(same, {.parallelism = 2}) | skip_errors(); });
    expect_that_unique_fails([&](const auto& d) {
      return d | map(same, {.parallelism = 4, .ordered = true}) | prefetch(1) | skip_errors();
    });
  }
}

// --- A failure of an inner dataset's stage -------------------------------------------------------

/// Gives 10 x, 10 x + 1, 10 x + 2; the inner dataset of 2 breaks behind them, by its own failure,
/// not by an error.
Dataset<std::int64_t> breaking_at_two(std::int64_t x) {
  const Dataset<std::int64_t> inner = range(10 * x, 10 * x + 3);
  if (x != 2) return inner;
  return Dataset<std::int64_t>(
      std::make_shared<internal::BreakingNode<std::int64_t>>(inner.node()));
}

template <class Make>
void expect_that_it_breaks(const Make& make, const Stream& in_front) {
  const Executors executors;
  for (const NamedExecutor& executor : executors.all()) {
    SCOPED_TRACE(executor.name);
    auto iterator = make().iterate({.executor = executor.executor});
    const Failed failed = take_until_terminal(iterator);
    EXPECT_EQ(failed.error.message(), "the stage broke");
    EXPECT_EQ(failed.stream, in_front);
    // It breaks again wherever one resumes.
    for (std::uint64_t place = 0; place <= in_front.size(); ++place) {
      Checkpoint checkpoint = failed.checkpoint;
      checkpoint.position = place;
      auto resumed = make().iterate({.resume = checkpoint, .executor = executor.executor});
      const Failed again = take_until_terminal(resumed);
      EXPECT_EQ(again.error.message(), "the stage broke");
      EXPECT_EQ(again.stream, Stream(in_front.begin() + std::ptrdiff_t(place), in_front.end()));
    }
  }
}

TEST(TerminalErrors, AnInnerStagesFailureEndsAFlatMap) {
  const Stream in_front = numbers({0, 1, 2, 10, 11, 12, 20, 21, 22});
  expect_that_it_breaks([] { return range(5) | flat_map(breaking_at_two); }, in_front);
  expect_that_it_breaks([] { return range(5) | flat_map(breaking_at_two) | skip_errors(); },
                        in_front);
  expect_that_it_breaks(
      [] { return range(5) | flat_map(breaking_at_two) | prefetch(3) | skip_errors(); }, in_front);
}

TEST(TerminalErrors, AnInnerStagesFailureEndsAnInterleave) {
  const Stream in_front = numbers({0, 10, 20, 1, 11, 21, 2, 12, 22});
  for (const int parallelism : {1, 2, 3}) {
    SCOPED_TRACE(parallelism);
    const auto interleaved = [parallelism] {
      return range(5) |
             interleave(breaking_at_two, {.cycle_length = 3, .parallelism = parallelism});
    };
    expect_that_it_breaks(interleaved, in_front);
    expect_that_it_breaks([&] { return interleaved() | skip_errors(); }, in_front);
    expect_that_it_breaks([&] { return interleaved() | prefetch(1) | skip_errors(); }, in_front);
  }
}

}  // namespace
}  // namespace infeed::test
