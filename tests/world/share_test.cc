#include <infeed/equal_steps.h>
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/filter.h>
#include <infeed/pipeline/shuffle.h>
#include <infeed/replace_errors.h>
#include <infeed/share.h>

#include "thrown_error.h"
#include "world/local_world.h"

namespace infeed::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HostBatchSizes, AddUpToTheGlobalBatchInEachStep) {
  EXPECT_THAT(host_batch_sizes({1, 4}, 32), ElementsAre(8));
  EXPECT_THAT(host_batch_sizes({0, 3}, 32), ElementsAre(11, 11, 10));
  EXPECT_THAT(host_batch_sizes({2, 3}, 32), ElementsAre(10, 11, 11));
  EXPECT_EQ(host_rows_max({2, 3}, 32), 11);
  for (int size = 1; size <= 9; ++size) {
    for (const std::int64_t rows : {9, 10, 12, 64}) {
      for (std::size_t step = 0; step < 20; ++step) {
        std::int64_t together = 0;
        for (int rank = 0; rank < size; ++rank) {
          const auto sizes = host_batch_sizes({rank, size}, rows);
          together += sizes[step % sizes.size()];
        }
        ASSERT_EQ(together, rows) << size << " hosts, step " << step;
      }
    }
  }
  const Error error = error_of([] { host_batch_sizes({0, 8}, 7); });
  EXPECT_THAT(error.message(), HasSubstr("7 rows for 8 ranks"));
  EXPECT_THROW(host_batch_sizes({3, 3}, 32), Error);
  EXPECT_THROW(host_batch_sizes({0, 1}, 0), Error);
}

auto batches_of(const RowShare& own) {
  return range(500) | filter([](std::int64_t x) { return x % 7 != 0; }) |
         shuffle({.buffer = 30, .seed = 4}) | repeat() | own_rows(own) |
         map([](std::int64_t x, Rng& rng) { return 100 * x + rng.below(100); }, {.seed = 2}) |
         batch(own.rows, {.drop_remainder = true});
}

std::vector<std::int64_t> take_values(Iterator<Batch<std::int64_t>>& iterator, int batches) {
  std::vector<std::int64_t> values;
  for (int i = 0; i < batches; ++i) {
    const std::optional<Batch<std::int64_t>> next = iterator.next();
    for (std::size_t row = 0; row < next->size(); ++row) values.push_back(next->row(row));
  }
  return values;
}

TEST(OwnRows, OfAnyPartsGoOnFromOneCheckpoint) {
  constexpr std::int64_t kRows = 16;
  const RowShare whole{.batch = kRows, .rows = kRows};
  auto all = batches_of(whole).iterate();
  take_values(all, 40);
  const Checkpoint expected = all.checkpoint();
  const std::vector<std::int64_t> next = take_values(all, 1);
  for (const std::int64_t first : {0, 1, 5, 15}) {
    const RowShare before{
        .batch = kRows, .first = first, .rows = std::min<std::int64_t>(3, 16 - first)};
    auto part = batches_of(before).iterate();
    take_values(part, 40);
    const Checkpoint saved = with_all_rows(part.checkpoint());
    EXPECT_EQ(saved.signature, expected.signature);
    EXPECT_EQ(saved.position, expected.position);
    for (const RowShare& after : {whole, before, RowShare{kRows, 0, 1}, RowShare{kRows, 7, 9}}) {
      const auto dataset = batches_of(after);
      auto resumed = dataset.iterate({.resume = with_own_rows(saved, dataset)});
      EXPECT_EQ(take_values(resumed, 1),
                std::vector<std::int64_t>(next.begin() + after.first,
                                          next.begin() + after.first + after.rows))
          << first << " and " << after.first;
    }
  }
  const auto other = batches_of({.batch = 20, .rows = 5});
  EXPECT_THAT(
      error_of([&] { other.iterate({.resume = with_own_rows(expected, other)}); }).message(),
      HasSubstr("its stage 6 is 'batch(16, drop_remainder)', this one's is 'batch(5, "
                "drop_remainder)'"));
}

TEST(WholeBatches, DropWrapOrPadTheLastOne) {
  const auto ten = range(10);
  EXPECT_THAT((ten | whole_batches(4, LastBatch::drop)).collect(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT((ten | whole_batches(4, LastBatch::wrap)).collect(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1));
  EXPECT_THAT((ten | whole_batches(4, std::int64_t{-1})).collect(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -1));
  EXPECT_THAT((ten | whole_batches(5, LastBatch::drop)).collect(), testing::SizeIs(10));
  EXPECT_THAT((range(3) | whole_batches(4, LastBatch::drop)).collect(), IsEmpty());
  EXPECT_THAT((range(3) | whole_batches(7, LastBatch::wrap)).collect(),
              ElementsAre(0, 1, 2, 0, 1, 2, 0));
  EXPECT_TRUE((ten | repeat() | whole_batches(4, LastBatch::drop)).cardinality().is_infinite());
  const Error error = error_of([&] {
    ten | filter([](std::int64_t x) { return x > 3; }) | whole_batches(4, LastBatch::drop);
  });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("filter"), HasSubstr("EqualSteps")));
}

TEST(ReshardStep, RefusesAShuffleBehindTheShard) {
  const auto part = [](const World& world) {
    return range(96) | share_of(world) | shuffle({.buffer = 3, .seed = 1}) |
           batch(host_rows_max(world, 32)) | host_batches(world, 32);
  };
  const Checkpoint checkpoint = part({0, 2}).iterate().checkpoint();
  const Error error = error_of([&] { reshard_step(checkpoint, part({0, 3}), 32); });
  EXPECT_THAT(error.message(), HasSubstr("shuffle stands behind shard"));
}

TEST(ReplaceErrors, PutsAnElementInTheErrorsPlaceByItsSharedPosition) {
  std::vector<std::uint64_t> positions;
  const auto fails_on_sevens = [](std::int64_t x) {
    if (x % 7 == 3) throw std::runtime_error("a seven");
    return x;
  };
  const auto kept = range(40) | share_of({1, 2}) | map(fails_on_sevens) |
                    replace_errors([&](const Error& error, std::uint64_t position) {
                      EXPECT_THAT(error.what(), HasSubstr("a seven"));
                      positions.push_back(position);
                      return std::int64_t{-1};
                    });
  EXPECT_THAT(kept.collect(), ElementsAre(1, -1, 5, 7, 9, 11, 13, 15, -1, 19, 21, 23, 25, 27, 29,
                                          -1, 33, 35, 37, 39));
  EXPECT_THAT(positions, ElementsAre(3, 17, 31));
  EXPECT_EQ(kept.cardinality(), Cardinality::finite(20));
  // A resume begins at each place, and the errors stay where they are.
  const std::vector<std::int64_t> all = kept.collect();
  for (std::size_t at = 0; at <= all.size(); ++at) {
    auto iterator = kept.iterate();
    for (std::size_t i = 0; i < at; ++i) iterator.next();
    auto resumed = kept.iterate({.resume = iterator.checkpoint()});
    for (std::size_t i = at; i < all.size(); ++i) ASSERT_EQ(resumed.next(), all[i]) << at;
    EXPECT_FALSE(resumed.next());
  }
}

TEST(ReplaceErrors, AFunctionThatThrowsLeavesAnError) {
  auto iterator = (range(3) | map([](std::int64_t x) {
                     if (x == 1) throw std::runtime_error("first");
                     return x;
                   }) |
                   replace_errors([](const Error&, std::uint64_t) -> std::int64_t {
                     throw std::runtime_error("second");
                   })).iterate();
  EXPECT_EQ(iterator.next(), 0);
  EXPECT_THAT(error_of([&] { iterator.next(); }).message(), HasSubstr("second"));
  EXPECT_EQ(iterator.next(), 2);
}

/// Runs ranks whose data has lengths[rank] batches, and returns what each took: its batches, and -1
/// for a step without one.
std::vector<std::vector<int>> equal_steps(const std::vector<int>& lengths, StepsEnd end) {
  LocalWorld world(static_cast<int>(lengths.size()));
  std::vector<std::vector<int>> taken(lengths.size());
  const auto errors = world.run([&](Communicator& ranks) {
    const auto rank = static_cast<std::size_t>(ranks.world().rank);
    int at = 0;
    EqualSteps<int> steps(
        [&]() -> std::optional<int> {
          return at < lengths[rank] ? std::optional(at++) : std::nullopt;
        },
        ranks, end);
    while (const auto step = steps.next()) taken[rank].push_back(step->batch.value_or(-1));
    EXPECT_EQ(steps.steps(), taken[rank].size());
    EXPECT_FALSE(steps.next());
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  return taken;
}

TEST(EqualSteps, EndWithTheFirstOrTheLastHost) {
  EXPECT_THAT(equal_steps({3, 2, 4}, StepsEnd::with_first), Each(ElementsAre(0, 1)));
  EXPECT_THAT(
      equal_steps({3, 1, 4}, StepsEnd::with_last),
      ElementsAre(ElementsAre(0, 1, 2, -1), ElementsAre(0, -1, -1, -1), ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(equal_steps({0, 3}, StepsEnd::with_first), Each(IsEmpty()));
  EXPECT_THAT(equal_steps({0, 0}, StepsEnd::with_last), Each(IsEmpty()));
}

TEST(EqualSteps, TellOfAHostsError) {
  LocalWorld world(3);
  const auto errors = world.run([](Communicator& ranks) {
    int at = 0;
    EqualSteps<int> steps(
        [&]() -> std::optional<int> {
          if (ranks.world().rank == 1 && at == 2) throw std::runtime_error("a file is gone");
          return at++;
        },
        ranks, StepsEnd::with_first);
    while (steps.next()) {
    }
  });
  EXPECT_EQ(errors[1], "a file is gone");
  for (const int rank : {0, 2}) {
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                HasSubstr("rank 1 failed in step 2: a file is gone"));
  }
}

}  // namespace
}  // namespace infeed::test
