#include <infeed/feed.h>
#include <infeed/infeed.h>

#include "feed/fed_job.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using testing::Each;
using testing::IsEmpty;

Batches share_of(const World& share, const std::string& = {}) {
  return range(400) | shuffle({.buffer = 60, .seed = 8}) |
         shard({.count = share.size, .index = share.rank}) | batch(10) | in_columns();
}

std::vector<std::string> all_of(const Batches& batches, IterateOptions options = {}) {
  auto iterator = batches.iterate(std::move(options));
  return take_rest(iterator);
}

/// Runs the function at rank 0, and workers at the others.
std::vector<std::string> run_fed(int workers, const std::function<void(Communicator&)>& train) {
  LocalWorld world(1 + workers);
  return world.run([&](Communicator& rank) {
    const bool is_worker = rank.world().rank > 0;
    const FeedRoles roles = gather_roles(rank, is_worker);
    if (is_worker) {
      serve_steps(rank, share_of, {.trainers = roles.trainers});
      return;
    }
    const std::shared_ptr<void> dismissed(nullptr,
                                          [&](void*) { dismiss_workers(rank, roles.workers); });
    train(rank);
  });
}

std::vector<int> ranks_from_one(int count) {
  std::vector<int> ranks;
  for (int i = 1; i <= count; ++i) ranks.push_back(i);
  return ranks;
}

TEST(FedBatches, AreADatasetWithEpochsStagesBehindAndResume) {
  const auto stages_behind = repeat(2) | prefetch(2);
  const std::vector<std::string> expected = all_of(share_of({}) | stages_behind, {.epoch = 0});
  Checkpoint place;
  EXPECT_THAT(run_fed(2,
                      [&](Communicator& rank) {
                        const Batches fed =
                            fed_batches(rank, {.workers = ranks_from_one(2), .range_steps = 3});
                        EXPECT_EQ(fed.cardinality(), Cardinality::finite(40));
                        EXPECT_EQ(all_of(fed | stages_behind, {.epoch = 0}), expected);
                        auto iterator = (fed | stages_behind).iterate({.epoch = 0});
                        take_rest(iterator, 53);
                        place = iterator.checkpoint();
                      }),
              Each(IsEmpty()));
  const std::vector<std::string> rest(expected.begin() + 53, expected.end());
  for (const int workers : {1, 3}) {
    EXPECT_THAT(run_fed(workers,
                        [&](Communicator& rank) {
                          const Batches fed = fed_batches(
                              rank, {.workers = ranks_from_one(workers), .range_steps = 2});
                          EXPECT_EQ(all_of(fed | stages_behind, {.resume = place}), rest);
                        }),
                Each(IsEmpty()));
  }
}

TEST(FedBatches, ATrainerThatStopsLeavesNothingWaiting) {
  EXPECT_THAT(
      run_fed(1,
              [](Communicator& rank) {
                const Batches fed = fed_batches(rank, {.workers = {1}});
                std::stop_source stop;
                auto iterator = (fed | repeat() | prefetch()).iterate({.stop = stop.get_token()});
                iterator.next();
                stop.request_stop();
                EXPECT_EQ(error_of([&] { take_rest(iterator); }).code(), ErrorCode::cancelled);
              }),
      Each(IsEmpty()));
}

TEST(FedBatches, ACheckpointOfAnotherPipelineIsRefused) {
  EXPECT_THAT(run_fed(1,
                      [](Communicator& rank) {
                        const Batches fed = fed_batches(rank, {.workers = {1}});
                        Checkpoint place = fed.iterate().checkpoint();
                        EXPECT_EQ(place.signature, share_of({}).iterate().checkpoint().signature);
                        place.signature[0] = "range(0, 500)";
                        EXPECT_EQ(error_of([&] { fed.iterate({.resume = place}); }).code(),
                                  ErrorCode::failed_precondition);
                      }),
              Each(IsEmpty()));
}

TEST(FeedRoles, AreKnownToAllRanks) {
  LocalWorld world(5);
  const auto errors = world.run([](Communicator& rank) {
    const FeedRoles roles = gather_roles(rank, rank.world().rank % 2 == 1);
    EXPECT_EQ(roles.trainers, (std::vector<int>{0, 2, 4}));
    EXPECT_EQ(roles.workers, (std::vector<int>{1, 3}));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

}  // namespace
}  // namespace infeed::test
