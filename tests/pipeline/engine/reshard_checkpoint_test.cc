#include <algorithm>
#include <gmock/gmock.h>

#include <infeed/infeed.h>

#include "engine/resume/resharded_at.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Hosts {
  std::uint64_t count;
  std::int64_t rows;
};

std::int64_t same(std::int64_t x) { return x; }
std::int64_t fails_on_sevens(std::int64_t x) {
  if (x % 7 == 3) throw std::runtime_error("a seven");
  return x;
}

/// Adds the rows of at most `steps` batches to `taken`; an error is a step without rows.
template <class T>
void take_rows(Iterator<T>& iterator, std::uint64_t steps, std::vector<std::int64_t>& taken) {
  for (std::uint64_t step = 0; step < steps; ++step) {
    try {
      const auto batch = iterator.next();
      if (!batch) return;
      taken.insert(taken.end(), batch->values().begin(), batch->values().end());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::user_function) throw;
    }
  }
}

/// Runs jobs of other numbers of hosts one after the other, each for some steps and the last one to
/// its end, and returns the rows of all. `share(hosts, index)` describes a host's part of a stream
/// of `elements`.
template <class Share>
std::vector<std::int64_t> rows_of_jobs(Share share, std::uint64_t elements, int jobs,
                                       SeededRandom& random) {
  std::vector<std::int64_t> taken;
  std::optional<Checkpoint> saved;
  for (int job = 0; job < jobs; ++job) {
    const Hosts hosts{1 + random.below(6), random.between(1, 8)};
    const std::uint64_t left = elements - (saved ? saved->taken.elements : 0);
    const std::uint64_t together = hosts.count * static_cast<std::uint64_t>(hosts.rows);
    const bool is_last = job == jobs - 1;
    const std::uint64_t steps = is_last ? elements : random.below(left / 2 / together + 1);
    std::optional<Checkpoint> at_end;
    for (std::uint64_t host = 0; host < hosts.count; ++host) {
      const auto dataset = share(hosts, host);
      IterateOptions options;
      if (saved) options.resume = reshard_checkpoint(*saved, dataset);
      auto iterator = dataset.iterate(options);
      take_rows(iterator, steps, taken);
      // Any host's will do.
      if (!at_end || random.below(2) == 0)
        at_end = Checkpoint::from_text(iterator.checkpoint().to_text());
    }
    saved = reshard_checkpoint(*at_end, share(hosts, 0));
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

std::vector<std::int64_t> sorted_rows(const Dataset<std::int64_t>& dataset) {
  std::vector<std::int64_t> rows;
  for (const std::int64_t row : dataset.iterate()) rows.push_back(row);
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(ReshardCheckpoint, AnyHostsGoOnWithNothingTwiceAndNothingLeftOut) {
  constexpr std::int64_t kElements = 4321;
  SeededRandom random;
  const auto share = [](Hosts hosts, std::uint64_t index) {
    return range(kElements) | global_shuffle({.seed = 7}) | shuffle({.buffer = 20, .seed = 3}) |
           shard({.count = hosts.count, .index = index}) | map(same) | batch(hosts.rows) |
           prefetch();
  };
  for (int round = 0; round < 30; ++round)
    ASSERT_EQ(rows_of_jobs(share, kElements, 4, random), sorted_rows(range(kElements)));
}

TEST(ReshardCheckpoint, FiltersAndLeftOutErrorsMayStandBeforeShard) {
  SeededRandom random;
  const auto stream = range(3000) | map(fails_on_sevens) | skip_errors() |
                      filter([](std::int64_t x) { return x % 5 != 0; });
  const auto share = [&](Hosts hosts, std::uint64_t index) {
    return stream | shard({.count = hosts.count, .index = index}) | batch(hosts.rows);
  };
  const std::vector<std::int64_t> all = sorted_rows(stream);
  for (int round = 0; round < 20; ++round)
    ASSERT_EQ(rows_of_jobs(share, all.size(), 3, random), all);
}

TEST(ReshardCheckpoint, ErrorsAreElements) {
  SeededRandom random;
  // Batches of one row: an error takes no good row with it.
  const auto share = [&](Hosts hosts, std::uint64_t index) {
    return range(2000) | map(fails_on_sevens) | shard({.count = hosts.count, .index = index}) |
           batch(1);
  };
  const auto good = range(2000) | filter([](std::int64_t x) { return x % 7 != 3; });
  for (int round = 0; round < 20; ++round) {
    const auto of_one_row = [&](Hosts hosts, std::uint64_t index) {
      return share({hosts.count, 1}, index);
    };
    ASSERT_EQ(rows_of_jobs(of_one_row, 2000, 3, random), sorted_rows(good));
  }
}

/// An error is a step of its own beside the batches, so steps don't tell how many rows were taken.
TEST(ReshardCheckpoint, ErrorsThatWereStepsBesideBatchesAreRefused) {
  const auto share = [](std::uint64_t count) {
    return range(80) | map(fails_on_sevens) | shard({.count = count, .index = 0}) | batch(4);
  };
  auto iterator = share(2).iterate();
  EXPECT_EQ(reshard_checkpoint(iterator.checkpoint(), share(3)).taken.elements, 0U);
  EXPECT_EQ(iterator.next()->values().size(), 4U);  // 0, 2, 4, 6, then 8 beside the error at 10
  EXPECT_EQ(reshard_checkpoint(iterator.checkpoint(), share(3)).taken.elements, 8U);
  while (iterator.checkpoint().errors_taken == 0) {
    try {
      iterator.next();
    } catch (const Error&) {  // goes on behind it
    }
  }
  const Checkpoint saved = Checkpoint::from_text(iterator.checkpoint().to_text());
  EXPECT_EQ(saved, iterator.checkpoint());
  const Error error = error_of([&] { reshard_checkpoint(saved, share(3)); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("1 of the 2 steps were errors"));
  auto resumed = share(2).iterate({.resume = saved});
  EXPECT_EQ(resumed.checkpoint().errors_taken, 1U) << "it stays known";
}

/// An iteration that began behind an error didn't know of it, and rows were lost.
TEST(ReshardCheckpoint, ErrorsThatWerePassedOverAreStepsToo) {
  const auto share = [](std::uint64_t count) {
    return range(80) | map(fails_on_sevens) | shard({.count = count, .index = 0}) | batch(4) |
           prefetch() | map([](const Batch<std::int64_t>& rows) { return rows.values()[0]; });
  };
  // The second step is the error.
  auto before = share(2).iterate({.skip = 1});
  EXPECT_EQ(before.checkpoint().errors_taken, 0U);
  auto behind = share(2).iterate({.skip = 2});
  EXPECT_EQ(behind.checkpoint().errors_taken, 1U);
  EXPECT_EQ(error_of([&] { reshard_checkpoint(behind.checkpoint(), share(3)); }).code(),
            ErrorCode::failed_precondition);
  auto resumed = share(2).iterate({.resume = before.checkpoint(), .skip = 1});
  EXPECT_EQ(resumed.checkpoint().errors_taken, 1U);
}

/// Errors of other shards may be among those that a stage before shard has counted.
TEST(ReshardCheckpoint, ErrorsThatWerePassedOverDontMatterWhereEachElementIsAStep) {
  const auto share = [](std::uint64_t count) {
    return range(80) | map(fails_on_sevens) | batch(4) | shard({.count = count, .index = 0});
  };
  auto behind = share(2).iterate({.skip = 3});
  EXPECT_GE(behind.checkpoint().errors_taken, 1U);
  EXPECT_EQ(reshard_checkpoint(behind.checkpoint(), share(3)).taken.elements, 6U);
}

/// Errors that were left out or replaced before shard are no steps.
TEST(ReshardCheckpoint, ErrorsThatWereLeftOutAreNoSteps) {
  const auto share = [](std::uint64_t count) {
    return range(80) | map(fails_on_sevens) | skip_errors() | shard({.count = count, .index = 0}) |
           batch(4);
  };
  auto iterator = share(2).iterate();
  for (int step = 0; step < 4; ++step) iterator.next();
  ASSERT_GT(iterator.checkpoint().errors, 0U);
  EXPECT_EQ(iterator.checkpoint().errors_taken, 0U);
  EXPECT_EQ(reshard_checkpoint(iterator.checkpoint(), share(3)).taken.elements, 32U);
  auto behind = share(2).iterate({.skip = 4});
  ASSERT_GT(behind.checkpoint().errors, 0U);
  EXPECT_EQ(behind.checkpoint().errors_taken, 0U);
}

TEST(ReshardCheckpoint, ManyShardsSkipToTheirPlace) {
  SeededRandom random;
  const auto share = [](std::uint64_t count, std::uint64_t index) {
    return range(100'000) | shard({.count = count, .index = index});
  };
  auto iterator = share(3, 1).iterate();
  for (int i = 0; i < 100; ++i) iterator.next();
  const auto many = share(200, 7);
  auto resumed = many.iterate({.resume = reshard_checkpoint(iterator.checkpoint(), many)});
  EXPECT_EQ(resumed.next(), 307);
  EXPECT_EQ(resumed.next(), 507);
  auto again = many.iterate({.resume = resumed.checkpoint()});
  EXPECT_EQ(again.next(), 707) << "a checkpoint of the new run resumes without resharding";
}

TEST(ReshardCheckpoint, SaysWhatWasTaken) {
  const auto share = [](std::uint64_t count, std::int64_t rows) {
    return range(1000) | shard({.count = count, .index = 0}) | batch(rows);
  };
  auto iterator = share(4, 5).iterate();
  for (int step = 0; step < 3; ++step) iterator.next();
  const auto now = share(3, 7);
  const Checkpoint resharded = reshard_checkpoint(iterator.checkpoint(), now);
  EXPECT_THAT(resharded.to_text(), HasSubstr("position 0\nepoch 0\nerrors 0\ntaken 60 by 4\n"));
  auto resumed = now.iterate({.resume = resharded});
  EXPECT_THAT(resumed.next()->values(), ElementsAre(60, 63, 66, 69, 72, 75, 78));
  EXPECT_EQ(resumed.checkpoint().taken, (TakenBefore{.elements = 60, .shards = 4}));
  EXPECT_EQ(reshard_checkpoint(resharded, share(2, 1)).taken, resharded.taken) << "no step since";
  const Checkpoint next = reshard_checkpoint(resumed.checkpoint(), share(2, 1));
  EXPECT_EQ(next.taken, (TakenBefore{.elements = 60 + 3 * 7, .shards = 3}));
}

TEST(ReshardCheckpoint, OfEachKindOfBatch) {
  const auto row_of = [](std::int64_t x) { return std::vector<std::int64_t>{x}; };
  const auto expect = [&](auto share) {
    auto iterator = share(2, 3).iterate();
    for (int step = 0; step < 5; ++step) iterator.next();
    const Checkpoint there = reshard_checkpoint(iterator.checkpoint(), share(5, 4));
    EXPECT_EQ(there.taken, (TakenBefore{.elements = 5 * 3 * 2, .shards = 2}));
  };
  const auto rows = [&](std::uint64_t count) {
    return range(600) | map(row_of) | shard({.count = count, .index = 0});
  };
  expect([&](std::uint64_t count, std::int64_t size) { return rows(count) | padded_batch(size); });
  expect([&](std::uint64_t count, std::int64_t size) { return rows(count) | ragged_batch(size); });
  expect([&](std::uint64_t count, std::int64_t size) {
    return rows(count) | batch(size, {.drop_remainder = true});
  });
}

TEST(ReshardCheckpoint, ARepeatBehindShardWhosePassesEndTogether) {
  const auto share = [](std::uint64_t count, std::uint64_t index) {
    return range(60) | shard({.count = count, .index = index}) | repeat(3) | batch(2);
  };
  std::vector<std::int64_t> expected = sorted_rows(range(60) | repeat(3));
  for (const std::uint64_t steps :
       {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{15}, std::uint64_t{31}}) {
    for (const std::uint64_t hosts : {1, 3, 4, 7}) {
      std::vector<std::int64_t> taken;
      Checkpoint saved;
      for (std::uint64_t host = 0; host < 2; ++host) {
        auto iterator = share(2, host).iterate();
        take_rows(iterator, steps, taken);
        saved = iterator.checkpoint();
      }
      for (std::uint64_t host = 0; host < hosts; ++host) {
        const auto dataset = share(hosts, host);
        auto iterator = dataset.iterate({.resume = reshard_checkpoint(saved, dataset)});
        take_rows(iterator, 1000, taken);
      }
      std::sort(taken.begin(), taken.end());
      EXPECT_EQ(taken, expected) << steps << " steps, then " << hosts << " hosts";
    }
  }
}

TEST(ReshardCheckpoint, AHostWithoutElementsOfTheFirstPassGoesOnWithTheNext) {
  const auto share = [](std::uint64_t count, std::uint64_t index) {
    return range(4) | shard({.count = count, .index = index}) | repeat();
  };
  auto iterator = share(1, 0).iterate();
  for (int i = 0; i < 3; ++i) iterator.next();
  const auto second = share(2, 1);  // the pass has one element left, for the first host
  auto resumed = second.iterate({.resume = reshard_checkpoint(iterator.checkpoint(), second)});
  EXPECT_EQ(resumed.next(), 1);
  EXPECT_EQ(resumed.next(), 3);
}

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

TEST(ReshardCheckpoint, KeepsTheBookmarksBeforeShard) {
  const auto dataset = range(100) | filter([](std::int64_t) { return true; }) |
                       shard({.count = 2, .index = 0}) | batch(3);
  Checkpoint checkpoint = dataset.iterate({.order_hash = true}).checkpoint();
  checkpoint.position = 5;
  checkpoint.order_hash = 77;
  for (std::uint64_t stage = 0; stage < 4; ++stage)
    checkpoint.bookmarks.push_back({.stage = stage, .given = stage + 1});
  const Checkpoint there = reshard_checkpoint(checkpoint, dataset);
  ASSERT_EQ(there.bookmarks.size(), 2U);
  EXPECT_EQ(there.bookmarks[0], checkpoint.bookmarks[0]);
  EXPECT_EQ(there.bookmarks[1], checkpoint.bookmarks[1]);
  EXPECT_EQ(there.order_hash, 0U) << "other hosts give other elements";
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
