#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <infeed/infeed.h>

#include "engine/resume/resharded_at.h"
#include "thrown_error.h"

// Pipelines and checkpoints with which other hosts can't go on, and those at the edge that can.
namespace infeed::test {
namespace {

std::string refusal(const auto& before, const auto& now, std::uint64_t position = 0) {
  Checkpoint checkpoint = before.iterate().checkpoint();
  checkpoint.position = position;
  const Error error = error_of([&] { reshard_checkpoint(checkpoint, now); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  return error.message();
}
std::string refusal(const auto& dataset) { return refusal(dataset, dataset); }

TEST(ReshardCheckpoint, RefusesStagesBehindShardByName) {
  const auto shared = range(12) | shard({.count = 2, .index = 0});
  EXPECT_EQ(refusal(shared | shuffle({.buffer = 3, .seed = 1, .name = "mix"}) | batch(2)),
            "reshard_checkpoint: shuffle 'mix' stands behind shard, and which elements of the "
            "shared stream it has used doesn't follow from their number alone; put it before "
            "shard, or resume with as many shards as before");
  EXPECT_THAT(refusal(shared | filter([](std::int64_t x) { return x > 3; })), HasSubstr("filter"));
  EXPECT_THAT(
      refusal(shared | filter([](std::int64_t x) { return x > 3; }) | assert_cardinality(4)),
      HasSubstr("assert_cardinality stands behind shard"));
  EXPECT_THAT(refusal(shared | enumerate()), HasSubstr("enumerate stands behind"));
  EXPECT_THAT(refusal(shared | skip_errors()), HasSubstr("skip_errors stands behind"));
  EXPECT_THAT(refusal(shared | cache()), HasSubstr("cache stands behind"));
  EXPECT_EQ(refusal(range(13) | shard({.count = 2, .index = 0}) | repeat(2)),
            "reshard_checkpoint: repeat stands behind shard, and a pass of 13 elements doesn't end "
            "at the same step on all of 2 hosts with 1 rows; put it before shard");
  EXPECT_THAT(refusal(shared | batch(4) | repeat(2), shared | batch(4) | repeat(2), 1),
              HasSubstr("2 hosts with 4 rows"));
  EXPECT_EQ(refusal(range(3) | batch(2)),
            "reshard_checkpoint: the pipeline has no shard; one host is shard({.count = 1, .index "
            "= 0})");
}

TEST(ReshardCheckpoint, RefusesOtherPipelinesAndDamage) {
  const auto share = [](std::int64_t elements, std::int64_t before, std::uint64_t hosts,
                        std::int64_t rows) {
    return range(elements) | batch(before) | unbatch() | shard({.count = hosts, .index = 0}) |
           batch(rows);
  };
  EXPECT_EQ(refusal(share(1000, 2, 4, 5), share(999, 2, 2, 7)),
            "reshard_checkpoint: the checkpoint belongs to another pipeline: its stage 0 is "
            "'range(start=0, step=1, count=1000)', this one's is 'range(start=0, step=1, "
            "count=999)'; only shards and the rows of batches behind them may change");
  EXPECT_EQ(refusal(share(1000, 2, 4, 5), share(1000, 3, 2, 7)),
            "reshard_checkpoint: the checkpoint's stage 1 is 'batch(2)', this one's is 'batch(3)', "
            "and it stands before shard, where all hosts must have the same");
  // 2^62 x 5 x 4 would be beyond 64 bits.
  EXPECT_EQ(refusal(share(1000, 2, 4, 5), share(1000, 2, 2, 7), std::uint64_t{1} << 62),
            "reshard_checkpoint: position 4611686018427387904 with the stage 'batch(5)' is beyond "
            "all that can be counted, so the checkpoint is damaged");
}

/// The elements of the stream are counted up to 2^63 - 1.
TEST(ReshardCheckpoint, RefusesWhatNobodyCanCount) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  const auto taken_by = [](std::uint64_t hosts, std::uint64_t position, std::uint64_t before) {
    const auto dataset = range(1000) | shard({.count = hosts, .index = 0});
    Checkpoint checkpoint = dataset.iterate().checkpoint();
    checkpoint.position = position;
    checkpoint.taken = {.elements = before, .shards = 1};
    return reshard_checkpoint(checkpoint, dataset).taken.elements;
  };
  EXPECT_EQ(taken_by(1, kHalf - 1, 0), kHalf - 1);
  EXPECT_EQ(taken_by(1, kHalf - 5, 4), kHalf - 1);
  EXPECT_EQ(taken_by(2, kHalf / 2 - 1, 1), kHalf - 1);
  const auto expect_refusal = [&](std::uint64_t hosts, std::uint64_t position,
                                  std::uint64_t before) {
    EXPECT_EQ(error_of([&] { taken_by(hosts, position, before); }).message(),
              "reshard_checkpoint: position " + std::to_string(position) +
                  " with the stage 'shard(count=" + std::to_string(hosts) +
                  ", index=0)' is beyond all that can be counted, so the checkpoint is damaged");
  };
  expect_refusal(1, kHalf, 0);
  expect_refusal(1, kHalf - 5, 5);
  expect_refusal(2, kHalf / 2, 0);
  expect_refusal(4, kHalf / 2, 0);  // 2^64
  expect_refusal(1, kHalf, kHalf);
}

TEST(ReshardCheckpoint, RefusesADamagedNumberOfShards) {
  const auto dataset = range(12) | shard({.count = 2, .index = 0});
  Checkpoint checkpoint = dataset.iterate().checkpoint();
  for (const std::string line : {"shard(count=0, index=0)", "shard(count=x, index=0)", "shard"}) {
    checkpoint.signature[1] = line;
    EXPECT_EQ(error_of([&] { reshard_checkpoint(checkpoint, dataset); }).message(),
              "reshard_checkpoint: the checkpoint's stage '" + line + "' is damaged");
  }
}

TEST(ReshardCheckpoint, LooksWhetherThePassesOfARepeatEndTogether) {
  const auto share = [](const auto& stream, std::uint64_t hosts) {
    return stream | shard({.count = hosts, .index = 0}) | repeat(2);
  };
  const auto one = share(range(1), 1);
  EXPECT_EQ(reshard_checkpoint(one.iterate().checkpoint(), one).taken.elements, 0U);
  const std::string end = " elements doesn't end at the same step on all of 1 hosts with 1 rows";
  EXPECT_THAT(refusal(share(range(0), 1)), HasSubstr("a pass of 0" + end));
  EXPECT_THAT(refusal(share(range(9) | filter([](std::int64_t x) { return x > 3; }), 1)),
              HasSubstr("a pass of unknown many" + end));
  // 2^33 hosts with 2^33 rows each are beyond 64 bits.
  const auto batches = range(12) | shard({.count = 1, .index = 0}) | batch(4) | repeat(2);
  Checkpoint checkpoint = batches.iterate().checkpoint();
  checkpoint.position = 1;
  checkpoint.signature[1] = "shard(count=8589934592, index=0)";
  checkpoint.signature[2] = "batch(8589934592)";
  EXPECT_THAT(error_of([&] { reshard_checkpoint(checkpoint, batches); }).message(),
              HasSubstr("on all of 8589934592 hosts with 8589934592 rows"));
}

/// A repeat begins a pass anew, so an error shifts what follows.
TEST(ReshardCheckpoint, RefusesErrorsThatWereStepsBeforeARepeat) {
  const auto dataset = range(4) | shard({.count = 1, .index = 0}) | repeat(2);
  Checkpoint checkpoint = dataset.iterate().checkpoint();
  checkpoint.position = 3;
  EXPECT_EQ(reshard_checkpoint(checkpoint, dataset).taken.elements, 3U);
  checkpoint.errors_taken = 1;
  EXPECT_THAT(error_of([&] { reshard_checkpoint(checkpoint, dataset); }).message(),
              HasSubstr("1 of the 3 steps were errors"));
}

/// Each host may cut the global batches in sizes of its own.
TEST(ReshardCheckpoint, CountsWholeStepsBehindARebatch) {
  const auto share = [](std::uint64_t hosts, std::vector<std::int64_t> sizes) {
    return range(1000) | batch(5) | rebatch(4) | unbatch() | shard({.count = hosts, .index = 0}) |
           batch(8) | rebatch(std::move(sizes), {.drop_remainder = true});
  };
  Checkpoint checkpoint = share(2, {11, 11, 10}).iterate().checkpoint();
  checkpoint.position = 3;
  checkpoint.taken = {.elements = 6, .shards = 4};
  const auto now = share(3, {22, 7});
  EXPECT_EQ(detail::resharded_at_step(checkpoint, *now.node(), 64).taken,
            (TakenBefore{.elements = 3 * 64 + 6, .shards = 2}));
  EXPECT_THAT(error_of([&] { reshard_checkpoint(checkpoint, now); }).message(),
              HasSubstr("rebatch stands behind shard"));
  checkpoint.signature.back() = "rebatch(11 11 10)";
  EXPECT_THAT(
      error_of([&] { detail::resharded_at_step(checkpoint, *now.node(), 64); }).message(),
      HasSubstr(
          "its stage 6 is 'rebatch(11 11 10)', this one's is 'rebatch(22 7, drop_remainder)'"));
  checkpoint.errors_taken = 1;
  EXPECT_THAT(error_of([&] { detail::resharded_at_step(checkpoint, *now.node(), 64); }).message(),
              HasSubstr("1 of the 3 steps were errors"));
}

}  // namespace
}  // namespace infeed::test
