#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/test_sources.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using Numbers = Dataset<std::int64_t>;

/// Describes the same 40 elements with all that reads ahead. `made` gets the number of those that
/// were made, if they come in order.
struct Described {
  std::string name;
  Numbers dataset;
};

std::vector<Described> all_that_read_ahead(std::atomic<std::int64_t>& made) {
  const Numbers source = range(40) | map([&made](std::int64_t i) {
                           std::int64_t before = made.load();
                           while (before <= i && !made.compare_exchange_weak(before, i + 1)) {
                           }
                           return i;
                         });
  const auto same = [](std::int64_t i) { return i; };
  return {{"nothing", source},
          {"prefetch", source | prefetch(16)},
          {"prefetch, chosen", source | prefetch()},
          {"parallel map", source | map(same, {.parallelism = 2})},
          {"both, twice", source | prefetch(3) | map(same, {.parallelism = 2}) | prefetch(100)}};
}

std::vector<std::int64_t> take_next(Iterator<std::int64_t>& iterator, std::size_t most) {
  std::vector<std::int64_t> taken;
  while (taken.size() < most) {
    const auto next = iterator.next();
    if (!next) break;
    taken.push_back(*next);
  }
  return taken;
}

std::vector<std::int64_t> numbers(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> all;
  for (; begin < end; ++begin) all.push_back(begin);
  return all;
}

TEST(ReadAhead, EndsWhereTheConsumerHasSaid) {
  std::atomic<std::int64_t> made{0};
  for (const auto& [name, dataset] : all_that_read_ahead(made)) {
    SCOPED_TRACE(name);
    made = 0;
    {
      auto iterator = dataset.iterate();
      read_ahead_until(iterator, 7);
      EXPECT_EQ(take_next(iterator, 7), numbers(0, 7));
      EXPECT_EQ(made, 7);
      read_ahead_until(iterator, 9);
      EXPECT_EQ(take_next(iterator, 2), numbers(7, 9));
    }  // joins the threads
    EXPECT_EQ(made, 9);
  }
}

TEST(ReadAhead, WhatIsAskedForBehindItIsMade) {
  std::atomic<std::int64_t> made{0};
  for (const auto& [name, dataset] : all_that_read_ahead(made)) {
    SCOPED_TRACE(name);
    auto iterator = dataset.iterate();
    read_ahead_until(iterator, 3);
    EXPECT_EQ(take_next(iterator, 100), numbers(0, 40));
    EXPECT_FALSE(iterator.next());
  }
}

TEST(ReadAhead, CountsFromWhereItGoesOn) {
  std::atomic<std::int64_t> made{0};
  for (const auto& [name, dataset] : all_that_read_ahead(made)) {
    SCOPED_TRACE(name);
    made = 0;
    Checkpoint place;
    {
      auto iterator = dataset.iterate();
      read_ahead_until(iterator, 5);
      EXPECT_EQ(take_next(iterator, 5), numbers(0, 5));
      place = iterator.checkpoint();
    }
    {
      auto iterator = dataset.iterate({.resume = place, .skip = 1});
      read_ahead_until(iterator, 10);
      EXPECT_EQ(take_next(iterator, 4), numbers(6, 10));
    }
    EXPECT_EQ(made, 10);
  }
}

TEST(ReadAhead, HoldsForAConsumerThatDoesNotWait) {
  std::atomic<std::int64_t> made{0};
  for (const auto& [name, dataset] : all_that_read_ahead(made)) {
    SCOPED_TRACE(name);
    made = 0;
    {
      auto iterator = dataset.iterate();
      read_ahead_until(iterator, 4);
      for (std::int64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(*iterator.next_for(std::chrono::hours(1)), i);
      }
    }
    EXPECT_EQ(made, 4);
  }
}

/// A batch that is wanted needs its rows.
TEST(ReadAhead, IsCountedInRowsBeforeABatch) {
  std::atomic<std::int64_t> made{0};
  for (const auto& [name, dataset] : all_that_read_ahead(made)) {
    SCOPED_TRACE(name);
    if (name == "nothing") continue;  // a batch pulls small elements by the chunk
    made = 0;
    {
      auto iterator = (dataset | batch(8) | prefetch(4)).iterate();
      read_ahead_until(iterator, 2);
      EXPECT_EQ((*iterator.next())[7], 7);
      EXPECT_EQ((*iterator.next())[7], 15);
    }
    EXPECT_EQ(made, 16);
  }
}

/// Elements that are left out on the way make a stage before need more than was counted.
TEST(ReadAhead, EndsNothingWhereElementsAreLeftOut) {
  const auto fails = [](std::int64_t i) {
    if (i % 3 == 0) throw Error(ErrorCode::data_loss, "a third of them");
    return i;
  };
  const auto is_even = [](std::int64_t i) { return i % 2 == 0; };
  for (const int parallelism : {1, 2}) {
    auto iterator = (range(60) | prefetch(2) | map(fails, {.parallelism = parallelism}) |
                     skip_errors() | prefetch(5) | filter(is_even) | prefetch(5))
                        .iterate();
    read_ahead_until(iterator, 2);
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; i < 60; ++i) {
      if (i % 3 != 0 && is_even(i)) expected.push_back(i);
    }
    EXPECT_EQ(take_next(iterator, 100), expected);
  }
}

TEST(ReadAhead, ElementsThatAreKeptReadyAreCounted) {
  Gate gate;
  gate.release(1);
  auto iterator = (gated<std::int64_t>(plain_slots(5), gate) | prefetch(100)).iterate();
  const auto prefetched = [&] { return iterator.statistics().stages.front(); };
  EXPECT_EQ(iterator.next(), 0);
  EXPECT_EQ(prefetched().buffered_elements, 0U);
  gate.release(3);
  gate.wait_until_asked();  // the source has handed three over, and is asked for the last one
  EXPECT_EQ(prefetched().buffered_elements, 3U);
  EXPECT_EQ(prefetched().buffered_bytes, 3 * sizeof(std::int64_t));
  EXPECT_EQ(prefetched().elements, 1U);
  EXPECT_EQ(iterator.next(), 1);
  EXPECT_EQ(prefetched().buffered_elements, 0U) << "the consumer has them";
  EXPECT_EQ(prefetched().buffered_bytes, 0U);
  EXPECT_EQ(prefetched().elements, 4U);
  gate.release(1);
  EXPECT_EQ(take_next(iterator, 10), numbers(2, 5));
  EXPECT_EQ(iterator.memory().in_use_bytes(), 0U);
}

TEST(ReadAhead, LeavesErrorsInTheirPlaces) {
  std::atomic<std::int64_t> calls{0};
  const auto fails = [&calls](std::int64_t i) {
    ++calls;
    if (i == 1) throw Error(ErrorCode::data_loss, "the second one");
    return i;
  };
  {
    auto iterator = (range(20) | map(fails, {.parallelism = 2}) | prefetch(8)).iterate();
    read_ahead_until(iterator, 3);
    EXPECT_EQ(*iterator.next(), 0);
    EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::data_loss);
    EXPECT_EQ(*iterator.next(), 2);
  }
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace infeed::test
