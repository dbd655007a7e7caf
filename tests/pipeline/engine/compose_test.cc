#include <fmt/format.h>
#include <functional>
#include <limits>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/stream.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using Values = std::vector<std::int64_t>;

TEST(Compose, StagesGoBehindSeveralDatasets) {
  const auto tail = map([](std::int64_t x) { return 2 * x; }) | skip(1) | take(3);
  const auto copy = tail;
  EXPECT_EQ((range(10) | tail).collect(), (Values{2, 4, 6}));
  EXPECT_EQ((range(10, 20) | skip(2) | copy | skip(1)).collect(), (Values{28, 30}));
  EXPECT_EQ((range(10) | (tail | map([](std::int64_t x) { return x + 1; }))).collect(),
            (Values{3, 5, 7}));
}

TEST(Compose, AStageMayBeMovedIn) {
  auto tail = take(8) | (skip(2) | take(3));
  EXPECT_EQ((range(10) | std::move(tail)).collect(), (Values{2, 3, 4}));
}

TEST(Compose, OwnFunctionsStandOnEitherSide) {
  const auto own = [](const auto& input) { return input | skip(7); };
  const std::function<Dataset<std::int64_t>(Dataset<std::int64_t>)> erased = own;
  EXPECT_EQ((range(10) | (own | take(2))).collect(), (Values{7, 8}));
  EXPECT_EQ((range(10) | (take(9) | own | take(9))).collect(), (Values{7, 8}));
  EXPECT_EQ((range(10) | (take(9) | erased)).collect(), (Values{7, 8}));
}

TEST(Compose, ChangesTheType) {
  const auto tail = batch(4) | prefetch() |
                    map([](const auto& rows) { return static_cast<std::int64_t>(rows.size()); });
  EXPECT_EQ((range(10) | tail).collect(), (Values{4, 4, 2}));
}

TEST(Compose, AFunctionThatCantBeCopiedCanBeUsedTwice) {
  const auto stage = map([p = std::make_unique<int>(5)](std::int64_t x) { return x + *p; }) |
                     filter([p = std::make_unique<int>(6)](std::int64_t x) { return x != *p; });
  EXPECT_EQ((range(3) | stage).collect(), (Values{5, 7}));
  EXPECT_EQ((range(1) | stage).collect(), (Values{5}));
}

TEST(Dataset, RefusesANodeOfAnotherType) {
  const auto words = slices({std::string("a")}) | shuffle({.buffer = 1, .seed = 1});
  const Error error = error_of([&] { Dataset<std::int64_t>(words.node()); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(),
            fmt::format("Dataset<{}>: the elements of the node 'shuffle' are {}; make a Dataset of "
                        "that type",
                        type_info<std::int64_t>().name, type_info<std::string>().name));
  EXPECT_EQ(Dataset<std::string>(words.node()).node(), words.node());
}

TEST(Options, ANegativeCountSaysWhichOptionItIs) {
  const auto message = [](auto describe) { return error_of(describe).message(); };
  const int wrong = -2;
  EXPECT_EQ(message([&] { range(3) | shard({.count = wrong, .index = 0}); }),
            "shard: count is -2; give 0 or more");
  EXPECT_EQ(message([&] { range(3) | shard({.count = 3, .index = wrong}); }),
            "shard: index is -2; give 0 or more");
  EXPECT_EQ(message([&] { range(3) | shuffle({.buffer = wrong}); }),
            "shuffle: buffer is -2; give 0 or more");
  EXPECT_EQ(message([&] { range(3) | skip_errors({.count_max = wrong}); }),
            "skip_errors: count_max is -2; give 0 or more");
  EXPECT_EQ(message([&] { range(3) | skip_errors({.share_after = wrong}); }),
            "skip_errors: share_after is -2; give 0 or more");
  EXPECT_EQ(message([&] { records({"a"}, {.block_bytes = wrong}); }),
            "records: block_bytes is -2; give 0 or more");
  EXPECT_EQ(message([&] { records({"a"}, {.record_bytes_max = wrong}); }),
            "records: record_bytes_max is -2; give 0 or more");
  EXPECT_EQ(message([&] { records({"a"}, {.read_ahead_bytes = wrong}); }),
            "records: read_ahead_bytes is -2; give 0 or more");
  EXPECT_EQ(message([&] { range(3) | cache({.path = "x", .shard_bytes = wrong}); }),
            "cache: shard_bytes is -2; give 0 or more");
  EXPECT_EQ(message([&] { range(3) | snapshot({.path = "x", .shard_bytes = wrong}); }),
            "snapshot: shard_bytes is -2; give 0 or more");
  EXPECT_EQ(message([&] { range(3) | map(std::identity(), {.parallelism = wrong}); }),
            "map: parallelism is -2; give 1 or more, or infeed::autotune");
  EXPECT_EQ(message([&] { range(3) | map(std::identity(), {.parallelism = 0}); }),
            "map: parallelism is 0; give 1 or more, or infeed::autotune");
}

TEST(Options, ParallelismIsANumberOfThreadsOrAutotune) {
  EXPECT_EQ(detail::checked_parallelism("map", 1), 1);
  EXPECT_EQ(detail::checked_parallelism("map", autotune), autotune);
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_EQ(detail::checked_parallelism("map", std::int64_t{kMost} + 1), kMost);
}

}  // namespace
}  // namespace infeed::test
