#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/busy.h"

// Workers come or go while one of them, or the consumer in their place, is inside a user's
// function. The thread that does the rest must learn of it, also if memory allows only little under
// way.
namespace infeed::test {
namespace {

/// Sets all workers to one number, and to another one when a call asks for it.
class ChangeOnDemand final : public TuningPolicy {
 public:
  ChangeOnDemand(std::int64_t before, std::int64_t after) : before_(before), after_(after) {}

  TuningDecision observe(const TuningObservation& seen) override {
    if (changed_looks_ != 0) {
      ++changed_looks_;
      return {};
    }
    const bool changes = is_asked_;
    TuningDecision decision;
    for (const KnobState& knob : seen.knobs) {
      if (knob.kind != KnobKind::workers) continue;
      decision.settings.push_back({knob.id, changes ? after_ : before_});
    }
    if (changes) changed_looks_ = 1;
    return decision;
  }
  /// Called in a stage: asks, and returns when that was done and every woken thread has looked.
  void change() {
    constexpr int kLooksUntilAllSleep = 4;
    is_asked_ = true;
    while (changed_looks_ < kLooksUntilAllSleep) std::this_thread::yield();
  }

 private:
  const std::int64_t before_;
  const std::int64_t after_;
  std::atomic<bool> is_asked_{false};
  std::atomic<int> changed_looks_{0};
};

constexpr std::int64_t kElements = 100;

struct LargeRow {
  std::int64_t number;
  std::array<char, 4096> rest;
};

/// A function that is called at each element in one place of a pipeline.
using Call = std::function<void(std::int64_t)>;
using Describe = std::function<Dataset<std::int64_t>(Call)>;

std::int64_t sum(const Batch<LargeRow>& batch) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) sum += batch.row(i).number;
  return sum;
}

void expect_all_come(const Describe& describe, std::vector<std::uint64_t> limits_bytes = {0}) {
  std::vector<std::int64_t> expected;
  for (const std::int64_t x : describe([](std::int64_t) {}).iterate()) expected.push_back(x);
  struct Change {
    std::int64_t before, after;
  };
  for (const Change change : {Change{0, 2}, {2, 0}, {1, 3}, {3, 1}, {4, 2}}) {
    for (const std::int64_t at : {0, 1, 16, 50, 99}) {
      for (const std::uint64_t limit_bytes : limits_bytes) {
        SCOPED_TRACE("from " + std::to_string(change.before) + " to " +
                     std::to_string(change.after) + " at element " + std::to_string(at) + " in " +
                     std::to_string(limit_bytes) + " bytes");
        const auto policy = std::make_shared<ChangeOnDemand>(change.before, change.after);
        std::vector<std::int64_t> got;
        try {
          for (const std::int64_t x :
               describe([=](std::int64_t element) {
                 if (element == at) policy->change();
               })
                   .iterate({.memory_bytes_max = limit_bytes,
                 .executor = Executor::threads(4),
                 .tuner = {.look_every = std::chrono::milliseconds(1), .policy = policy},
                 .watchdog = std::chrono::minutes(1)})) {
            got.push_back(x);
          }
        } catch (const Error& error) {
          ADD_FAILURE() << "after " << got.size() << " elements: " << error.what();
        }
        EXPECT_EQ(got, expected);
      }
    }
  }
}

TEST(ChangedInACall, OfInterleave) {
  expect_all_come([](const Call& call) {
    const auto open = [call](std::int64_t x) {
      call(x);
      return slices({x, x, x});
    };
    return range(kElements) | interleave(open, {.parallelism = autotune});
  });
}

TEST(ChangedInACall, OfMap) {
  for (const std::chrono::microseconds time :
       {std::chrono::microseconds(0), std::chrono::microseconds(500)}) {
    expect_all_come([time](const Call& call) {
      const auto calls = [call, time](std::int64_t x) {
        call(x);
        compute_for(time);
        return x;
      };
      return range(kElements) | map(calls, {.parallelism = autotune});
    });
  }
}

TEST(ChangedInACall, OfTheInputOfMapAndPrefetch) {
  expect_all_come([](const Call& call) {
    const auto calls = [call](std::int64_t x) {
      call(x);
      return x;
    };
    const auto doubles = [](std::int64_t x) { return 2 * x; };
    return range(kElements) | map(calls) | map(doubles, {.parallelism = autotune}) | prefetch();
  });
}

/// A limit that leaves room for one batch, or for a few stretches more.
const std::vector<std::uint64_t> kTightBytes = {0, 100'000, 150'000, 300'000};

TEST(ChangedInACall, OfBatchInto) {
  for (const std::chrono::microseconds time :
       {std::chrono::microseconds(0), std::chrono::microseconds(200)}) {
    expect_all_come(
        [time](const Call& call) {
          const auto fill = [call, time](std::int64_t x, const Row<LargeRow>& row) {
            call(x);
            compute_for(time);
            row.column(&LargeRow::number) = x;
          };
          return range(kElements) | batch_into<LargeRow>(16, fill, {.parallelism = autotune}) |
                 map(&sum);
        },
        kTightBytes);
  }
}

TEST(ChangedInACall, OfTheInputOfBatchInto) {
  expect_all_come(
      [](const Call& call) {
        const auto text_of = [call](std::int64_t x) {
          call(x);
          return std::string(4000, static_cast<char>('a' + x % 26));
        };
        const auto fill = [](const std::string& text, const Row<LargeRow>& row) {
          compute_for(std::chrono::microseconds(200));
          row.column(&LargeRow::number) = text.front();
        };
        return range(kElements) | map(text_of) |
               batch_into<LargeRow>(16, fill, {.parallelism = autotune}) | map(&sum);
      },
      kTightBytes);
}

}  // namespace
}  // namespace infeed::test
