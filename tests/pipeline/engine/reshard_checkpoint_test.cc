#include <algorithm>
#include <gmock/gmock.h>

#include <infeed/pipeline/assert_cardinality.h>
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/filter.h>
#include <infeed/pipeline/global_shuffle.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/reshard_checkpoint.h>
#include <infeed/pipeline/shard.h>
#include <infeed/pipeline/shuffle.h>

#include "pipeline/suite/random_seed.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

struct Hosts {
  std::uint64_t count;
  std::int64_t rows;
};

auto share(std::int64_t elements, Hosts hosts, std::uint64_t index) {
  return range(elements) | global_shuffle({.seed = 7}) | shuffle({.buffer = 20, .seed = 3}) |
         shard({.count = hosts.count, .index = index}) | batch(hosts.rows);
}

/// Takes `steps` batches; adds their rows to `taken`.
template <class T>
void take_rows(Iterator<T>& iterator, std::uint64_t steps, std::vector<std::int64_t>& taken) {
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto batch = iterator.next();
    if (!batch) return;
    taken.insert(taken.end(), batch->values().begin(), batch->values().end());
  }
}

TEST(ReshardCheckpoint, OtherHostsGoOnWithNothingTwiceAndNothingLeftOut) {
  constexpr std::int64_t kElements = 4321;
  RandomSource random;
  for (int round = 0; round < 60; ++round) {
    const Hosts before{1 + random.below(6), random.between(1, 8)};
    const Hosts now{1 + random.below(6), random.between(1, 8)};
    // A step of both: a multiple of what the new ones take at once.
    const std::uint64_t steps = now.count * static_cast<std::uint64_t>(now.rows) * random.below(3);
    std::vector<std::int64_t> taken;
    Checkpoint saved;
    for (std::uint64_t host = 0; host < before.count; ++host) {
      auto iterator = share(kElements, before, host).iterate();
      take_rows(iterator, steps, taken);
      saved = Checkpoint::from_text(iterator.checkpoint().to_text());
    }
    for (std::uint64_t host = 0; host < now.count; ++host) {
      const auto dataset = share(kElements, now, host);
      auto iterator = dataset.iterate(
          {.resume = reshard_checkpoint(saved, dataset,
                                        {.shards_before = before.count,
                                         .shards_now = now.count,
                                         .rows_before = static_cast<std::uint64_t>(before.rows),
                                         .rows_now = static_cast<std::uint64_t>(now.rows)})});
      take_rows(iterator, kElements, taken);
    }
    std::sort(taken.begin(), taken.end());
    ASSERT_EQ(taken.size(), kElements);
    for (std::int64_t i = 0; i < kElements; ++i) ASSERT_EQ(taken[static_cast<std::size_t>(i)], i);
  }
}

TEST(ReshardCheckpoint, RefusesWhatHasNoSuchPlace) {
  Checkpoint checkpoint = share(1000, {4, 5}, 1).iterate().checkpoint();
  checkpoint.position = 3;
  const auto message = [&](const auto& dataset, ReshardOptions options) {
    return error_of([&] { reshard_checkpoint(checkpoint, dataset, options); }).message();
  };
  const ReshardOptions to_two{.shards_before = 4, .shards_now = 2, .rows_before = 5, .rows_now = 7};
  EXPECT_EQ(message(share(1000, {2, 7}, 0), to_two),
            "reshard_checkpoint: 4 hosts took 60 elements together, which is no whole number of "
            "positions of 2 hosts with 7 rows each; take the checkpoint where it is");
  EXPECT_EQ(message(share(999, {2, 7}, 0), to_two),
            "reshard_checkpoint: the checkpoint belongs to another pipeline: its stage 0 is "
            "'range(start=0, step=1, count=1000)', this one's is 'range(start=0, step=1, "
            "count=999)'; only the numbers of shard and batch may change");
  EXPECT_EQ(message(share(1000, {2, 7}, 0), {.shards_before = 4, .shards_now = 0}),
            "reshard_checkpoint: shards are 4 and 0, rows 1 and 1; each must be at least 1");
  // 2^43 x 2^20 x 2 would be 0 in 64 bits.
  checkpoint.position = std::uint64_t{1} << 43;
  EXPECT_EQ(message(share(1000, {2, 7}, 0), {.shards_before = std::uint64_t{1} << 20,
                                             .shards_now = 2,
                                             .rows_before = 2,
                                             .rows_now = 7}),
            "reshard_checkpoint: position 8796093022208 of 1048576 hosts with 2 rows each, for 2 "
            "hosts with 7 rows each, is beyond 9223372036854775807 elements, so it is damaged or a "
            "number is wrong");
  EXPECT_THAT(message(share(1000, {2, 7}, 0), {.shards_before = 2,
                                               .shards_now = std::uint64_t{1} << 40,
                                               .rows_before = 2,
                                               .rows_now = std::uint64_t{1} << 24}),
              ::testing::HasSubstr("so it is damaged or a number is wrong"));
  checkpoint.position = 3;
  checkpoint.errors = 2;
  EXPECT_EQ(message(share(1000, {2, 7}, 0), to_two),
            "reshard_checkpoint: 2 errors were seen before the checkpoint, so the hosts needn't "
            "stand at the same place; resume with 4 shards");
  const auto filtered =
      range(10) | shard({.count = 2, .index = 0}) | filter([](std::int64_t x) { return x > 3; });
  checkpoint = filtered.iterate().checkpoint();
  EXPECT_EQ(
      message(filtered, {.shards_before = 2, .shards_now = 2}),
      "reshard_checkpoint: the pipeline has a stage that gives an unknown number of elements, "
      "so the hosts needn't stand at the same place of the shared stream; put such stages "
      "before shard");
}

TEST(ReshardCheckpoint, APromisedNumberIsNoCountOfTheSharedStream) {
  const auto make = [](std::uint64_t count) {
    return range(12) | shard({.count = count, .index = 0}) |
           filter([](std::int64_t x) { return x % 4 == 0; }) | assert_cardinality(3);
  };
  auto iterator = make(2).iterate();
  iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  const Error error = error_of(
      [&] { reshard_checkpoint(checkpoint, make(4), {.shards_before = 2, .shards_now = 4}); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
}

}  // namespace
}  // namespace infeed::test
