#include <array>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(Prefetch, PassesTheSuite) {
  for (const int depth : {0, 1, 2, 100, autotune}) {
    SCOPED_TRACE(depth);
    run_stage_suite([depth](auto dataset) { return dataset | prefetch(depth); }, show_all);
  }
}

TEST(Prefetch, SeveralInARowPassTheSuite) {
  run_stage_suite_on<std::int64_t>(
      [](auto dataset) { return dataset | prefetch(1) | prefetch() | prefetch(3); }, show_all);
}

TEST(Prefetch, WithinATightMemoryLimitPassesTheSuite) {
  run_stage_suite_on<std::string>(
      [](auto dataset) { return dataset | prefetch(1000) | prefetch(); }, show_all,
      {.memory_bytes_max = 8 * 1024});
}

/// 16 KiB: a chunk holds one, 32 KiB two.
struct Large {
  std::int64_t value;
  std::array<std::int64_t, 2047> rest;
};

TEST(Prefetch, WorksAheadByItsDepthAndNoFurther) {
  for (const int depth : {1, 3, 10}) {
    Gate gate;
    gate.release(100);
    auto dataset = gated<std::int64_t>(plain_slots(100), gate) | map([](std::int64_t x) {
                     return Large{x, {}};
                   }) |
                   prefetch(depth);
    auto iterator = dataset.iterate();
    EXPECT_EQ(iterator.next()->value, 0);
    // The driver stops when the queue is full, with one element more in its hands.
    const auto ahead = [&] { return iterator.statistics().stages.back().elements; };
    const std::uint64_t most = static_cast<std::uint64_t>(std::max(depth, 2)) + 3;
    for (std::int64_t i = 1; i < 20; ++i) {
      EXPECT_EQ(iterator.next()->value, i);
      EXPECT_LE(ahead(), static_cast<std::uint64_t>(i) + most);
    }
  }
}

TEST(Prefetch, WorksAheadWhileTheConsumerIsBusy) {
  Gate gate;
  gate.release(1);
  auto iterator = (gated<std::int64_t>(plain_slots(10), gate) | prefetch(20)).iterate();
  EXPECT_EQ(iterator.next(), 0);
  // The source goes on to its end although nobody asks.
  gate.release(8);
  gate.wait_until_asked();
  gate.release(1);
  EXPECT_EQ(take_stream(iterator), numbers({1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Prefetch, IsNoPartOfTheCheckpoint) {
  const Checkpoint with = (range(10) | prefetch(3)).iterate().checkpoint();
  EXPECT_EQ(with.signature, range(10).iterate().checkpoint().signature);
  auto resumed = range(10).iterate({.resume = with});
  EXPECT_EQ(take_stream(resumed).size(), 10);
}

TEST(Prefetch, KnowsItsLength) {
  EXPECT_EQ((range(10) | prefetch()).cardinality(), Cardinality::finite(10));
}

TEST(Prefetch, OfNothingKeepsNothingReady) {
  std::int64_t asked = 0;
  const auto dataset = range(100) | map([&asked](std::int64_t x) {
                         ++asked;
                         return std::array<std::int64_t, 10'000>{x};
                       }) |
                       prefetch(0);
  auto iterator = dataset.iterate();
  iterator.next();
  EXPECT_EQ(asked, 1);
}

TEST(Prefetch, RefusesANegativeDepth) {
  for (const int wrong : {-2, -100}) {
    const Error error = error_of([&] { range(3) | prefetch(wrong); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(
        error.message(),
        fmt::format("prefetch: depth is {}; give 0 (none) or more, or infeed::autotune", wrong));
  }
}

}  // namespace
}  // namespace infeed::test
