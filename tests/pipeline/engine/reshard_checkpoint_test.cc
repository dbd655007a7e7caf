#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include <infeed/infeed.h>

#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

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

}  // namespace
}  // namespace infeed::test
