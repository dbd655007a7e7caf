#include <atomic>

#include <infeed/feed.h>
#include <infeed/infeed.h>

#include "feed/fed_job.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

std::int64_t fail_sometimes(std::int64_t x) {
  if (x % 97 == 60) throw Error(ErrorCode::data_loss, fmt::format("{} is broken", x));
  return x;
}

constexpr int kPipelines = 8;

Batches pipeline(int number) {
  switch (number) {
    case 0:
      return range(500) | batch(7) | in_columns();
    case 1:
      return range(300) | shuffle({.buffer = 40, .seed = 7}) | repeat(2) | batch(8) | in_columns() |
             prefetch(2);
    case 2:
      return range(700) | filter(is_wanted) | shuffle({.buffer = 20, .seed = 1}) | batch(6) |
             in_columns();
    case 3:
      return range(400) | map(fail_sometimes) | batch(5, {.drop_remainder = true}) | in_columns();
    case 4:
      return range(400) | map(fail_sometimes, {.parallelism = 2}) | skip_errors() |
             shuffle({.buffer = 30, .seed = 3}) | batch(5) | in_columns() | prefetch(1);
    case 5:
      return sample_from_datasets({range(200) | filter(is_wanted), range(1000, 1300)},
                                  {.weights = {0.3, 0.7}, .seed = 5}) |
             batch(4) | in_columns();
    case 6:
      return range(640) | shuffle({.buffer = 64, .seed = 9}) | shard({.count = 2, .index = 1}) |
             repeat(3) | batch(16, {.drop_remainder = true}) | in_columns();
    default:
      return range(0) | batch(3) | in_columns();
  }
}

std::vector<std::string> alone(const Batches& batches, IterateOptions options = {}) {
  auto iterator = batches.iterate(std::move(options));
  return take_rest(iterator);
}

TEST(Feed, GivesWhatOneProcessGivesAtAnyNumberOfWorkers) {
  for (int number = 0; number < kPipelines; ++number) {
    const std::vector<std::string> expected = alone(pipeline(number), {.epoch = 3});
    for (int workers = 1; workers <= 4; ++workers) {
      SCOPED_TRACE(fmt::format("pipeline {}, {} workers", number, workers));
      const FedJob job{.workers = workers,
                       .pipeline = [number] { return pipeline(number); },
                       .options = {.range_steps = 3, .epoch = 3}};
      const auto errors = job.run([&](Feeder& feeder) {
        EXPECT_EQ(take_rest(feeder), expected);
        EXPECT_EQ(feeder.position(), expected.size());
        EXPECT_EQ(feeder.next(), std::nullopt);
      });
      EXPECT_THAT(errors, Each(IsEmpty()));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Feed, GoesOnFromAnyPlaceWithAnotherNumberOfWorkersOrNone) {
  SeededRandom random;
  for (int round = 0; round < 30; ++round) {
    const int number = static_cast<int>(random.below(kPipelines - 1));
    SCOPED_TRACE(fmt::format("round {}, pipeline {}", round, number));
    const auto make = [number] { return pipeline(number); };
    const std::vector<std::string> expected = alone(make());
    const std::uint64_t stop = random.below(expected.size());
    Checkpoint place;
    const FedJob before{.workers = 1 + static_cast<int>(random.below(3)),
                        .pipeline = make,
                        .options = {.range_steps = 1 + random.below(5)}};
    EXPECT_THAT(before.run([&](Feeder& feeder) {
      take_rest(feeder, stop);
      place = feeder.checkpoint();
    }),
                Each(IsEmpty()));
    // As text, which is what is kept.
    place = Checkpoint::from_text(place.to_text());
    const std::vector<std::string> rest(
        expected.begin() + static_cast<std::ptrdiff_t>(place.position), expected.end());
    EXPECT_EQ(alone(make(), {.resume = place}), rest);
    FedJob after = before;
    after.workers = 1 + static_cast<int>(random.below(4));
    after.options.resume = place;
    EXPECT_THAT(after.run([&](Feeder& feeder) { EXPECT_EQ(take_rest(feeder), rest); }),
                Each(IsEmpty()));
    if (testing::Test::HasFailure()) return;
  }
}

/// A training may get its batches from workers, or make them itself, and change that at any stop.
TEST(Feed, ADatasetOfFedBatchesHasTheCheckpointsOfItsPipeline) {
  SeededRandom random;
  for (int number = 0; number + 1 < kPipelines; ++number) {
    SCOPED_TRACE(fmt::format("pipeline {}", number));
    const auto make = [number] { return pipeline(number); };
    const std::vector<std::string> expected = alone(make());
    const std::size_t first = random.below(expected.size());
    const std::size_t second = first + random.below(expected.size() - first);
    auto begun = make().iterate();
    take_rest(begun, first);
    const Checkpoint before = begun.checkpoint();
    Checkpoint after;
    std::vector<std::string> between;
    const FedJob job{.workers = 2, .pipeline = make, .options = {.range_steps = 3}};
    EXPECT_THAT(job.run_trainer([&](Communicator& ranks, const FeedOptions& options) {
      const auto fed = fed_batches(ranks, options) | prefetch(1);
      auto iterator = fed.iterate({.resume = before});
      between = take_rest(iterator, second - first);
      after = iterator.checkpoint();
    }),
                Each(IsEmpty()));
    EXPECT_EQ(after.signature, before.signature);
    EXPECT_EQ(between, std::vector<std::string>(expected.begin() + std::ptrdiff_t(first),
                                                expected.begin() + std::ptrdiff_t(second)));
    EXPECT_EQ(alone(make(), {.resume = Checkpoint::from_text(after.to_text())}),
              std::vector<std::string>(expected.begin() + std::ptrdiff_t(second), expected.end()));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Feed, WorkersShareASeedThatNobodyGave) {
  const auto drawn = [] { return range(200) | shuffle({.buffer = 50}) | batch(4) | in_columns(); };
  const FedJob job{.workers = 3, .pipeline = drawn, .options = {.range_steps = 2}};
  const auto errors = job.run([&](Feeder& feeder) {
    take_rest(feeder, 5);
    const Checkpoint place = feeder.checkpoint();
    EXPECT_EQ(take_rest(feeder), alone(drawn(), {.resume = place}));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

/// Runs the job, and again with four times the patience where all workers seemed silent: on a busy
/// machine a good one may be for a while.
std::vector<std::string> run_patiently(FedJob job, const std::function<void(Feeder&)>& train) {
  while (true) {
    std::vector<std::string> errors = job.run(train);
    const bool all_seem_silent = errors[0].find("no worker is left") != std::string::npos;
    if (!all_seem_silent || job.options.silent_after > std::chrono::seconds(5)) return errors;
    job.options.silent_after *= 4;
  }
}

// The ways in which a worker treats its messages once it has sent some.
enum class Fault { dies, falls_silent, answers_twice, answers_late, last };

/// Makes a worker go wrong at its message `after`. A late one sends all that it kept with the first
/// message after `is_released`.
WatchedRank::OnSend go_wrong(Fault fault, std::uint64_t after,
                             std::shared_ptr<std::atomic<bool>> is_released) {
  auto sent = std::make_shared<std::uint64_t>(0);
  auto kept = std::make_shared<std::vector<WatchedRank::Forward>>();
  return [=](int, const WatchedRank::Forward& forward) {
    if ((*sent)++ < after) return forward();
    switch (fault) {
      case Fault::dies:
        throw std::runtime_error("killed by plan");
      case Fault::falls_silent:
        return;
      case Fault::answers_twice:
        forward();
        return forward();
      default:
        kept->push_back(forward);
        if (!*is_released) return;
        for (const auto& each : *kept) each();
        kept->clear();
    }
  };
}

TEST(Feed, EachBatchComesOnceThoughAWorkerDiesOrIsSilentTwiceOrLate) {
  SeededRandom random;
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const int number = static_cast<int>(random.below(kPipelines - 1));
    const auto fault = static_cast<Fault>(round % static_cast<int>(Fault::last));
    SCOPED_TRACE(fmt::format("round {}, pipeline {}, fault {}", round, number, round % 4));
    const auto make = [number] { return pipeline(number); };
    const std::vector<std::string> expected = alone(make());
    const auto released = std::make_shared<std::atomic<bool>>(false);
    const std::uint64_t after = random.below(12);
    const FedJob job{.workers = 2 + static_cast<int>(random.below(2)),
                     .pipeline = make,
                     .options = {.range_steps = 1 + random.below(4),
                                 .silent_after = std::chrono::milliseconds(500)},
                     .on_send = [&](int rank) {
                       return rank == 1 ? go_wrong(fault, after, released) : WatchedRank::OnSend();
                     }};
    std::vector<FedWorker> workers;
    const auto errors = run_patiently(job, [&](Feeder& feeder) {
      std::vector<std::string> lines = take_rest(feeder, expected.size() / 2);
      *released = true;
      for (const std::string& line : take_rest(feeder)) lines.push_back(line);
      EXPECT_EQ(lines, expected);
      workers = feeder.workers();
    });
    EXPECT_THAT(errors[0], IsEmpty());
    for (std::size_t rank = 2; rank < errors.size(); ++rank) EXPECT_THAT(errors[rank], IsEmpty());
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Feed, NamesAWorkerThatIsReplacedAndCountsLateAnswers) {
  const auto released = std::make_shared<std::atomic<bool>>(false);
  const FedJob job{.workers = 2,
                   .pipeline = [] { return pipeline(0); },
                   .options = {.range_steps = 2, .silent_after = std::chrono::milliseconds(500)},
                   .on_send =
                       [&](int rank) {
                         return rank == 1 ? go_wrong(Fault::falls_silent, 3, released)
                                          : WatchedRank::OnSend();
                       }};
  EXPECT_THAT(run_patiently(job,
                            [&](Feeder& feeder) {
                              EXPECT_EQ(take_rest(feeder), alone(pipeline(0)));
                              EXPECT_EQ(feeder.workers()[0].rank, 1);
                              EXPECT_EQ(feeder.workers()[0].state, FedWorkerState::silent);
                              EXPECT_GE(feeder.workers()[0].ranges_replaced, 1U);
                              EXPECT_EQ(feeder.workers()[1].state, FedWorkerState::answers);
                            }),
              Each(IsEmpty()));

  FedJob twice = job;
  twice.options.silent_after = FeedOptions().silent_after;
  twice.on_send = [&](int) { return go_wrong(Fault::answers_twice, 0, released); };
  EXPECT_THAT(twice.run([&](Feeder& feeder) {
    EXPECT_EQ(take_rest(feeder), alone(pipeline(0)));
    EXPECT_GE(feeder.workers()[0].late + feeder.workers()[1].late, 10U);
  }),
              Each(IsEmpty()));
}

TEST(Feed, EndsWithTheRanksOfAllWorkersIfNoneAnswers) {
  const auto released = std::make_shared<std::atomic<bool>>(false);
  const FedJob job{.workers = 2,
                   .pipeline = [] { return pipeline(0); },
                   .options = {.silent_after = std::chrono::milliseconds(200)},
                   .on_send = [&](int) { return go_wrong(Fault::falls_silent, 2, released); }};
  EXPECT_THAT(job.run([&](Feeder& feeder) {
    const Error error = error_of([&] { take_rest(feeder); });
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_TRUE(error.is_terminal());
    EXPECT_THAT(error.message(), AllOf(HasSubstr("feed: no worker is left that makes step"),
                                       HasSubstr("rank 1 has said nothing for "),
                                       HasSubstr("rank 2 has said nothing for ")));
    EXPECT_EQ(error_of([&] { feeder.next(); }).message(), error.message());
  }),
              Each(IsEmpty()));
}

TEST(Feed, AWorkerThatCantReadIsNamedAndTheOthersGoOn) {
  std::atomic<int> opened = 0;
  const auto broken_once = [&]() -> Batches {
    if (opened++ == 0) throw Error(ErrorCode::not_found, "no such file").at_file("x.tfrecord");
    return pipeline(1);
  };
  FedJob job{.workers = 2, .pipeline = broken_once, .options = {.range_steps = 2}};
  EXPECT_THAT(job.run([&](Feeder& feeder) {
    EXPECT_EQ(take_rest(feeder), alone(pipeline(1)));
    EXPECT_THAT(feeder.workers()[0].failure, HasSubstr("x.tfrecord"));
    EXPECT_EQ(feeder.workers()[0].state, FedWorkerState::failed);
    EXPECT_GT(feeder.workers()[1].steps, 0U);
  }),
              Each(IsEmpty()));

  // The second one to open has another pipeline.
  opened = 0;
  job.pipeline = [&]() { return pipeline(opened++ == 1 ? 0 : 1); };
  EXPECT_THAT(job.run([&](Feeder& feeder) {
    EXPECT_EQ(take_rest(feeder), alone(pipeline(1)));
    EXPECT_THAT(feeder.workers()[1].failure, HasSubstr("checkpoint"));
  }),
              Each(IsEmpty()));
}

TEST(Feed, ABatchThatCantBeSentIsNoElementsError) {
  const auto fails_once = [](int rank) -> WatchedRank::OnSend {
    if (rank != 1) return {};
    return [sent = std::make_shared<int>(0)](int, const WatchedRank::Forward& forward) {
      if (++*sent == 3) throw Error(ErrorCode::resource_exhausted, "the message is too large");
      forward();
    };
  };
  const FedJob job{.workers = 2,
                   .pipeline = [] { return pipeline(1); },
                   .options = {.range_steps = 2},
                   .on_send = fails_once};
  EXPECT_THAT(job.run([&](Feeder& feeder) {
    EXPECT_EQ(take_rest(feeder), alone(pipeline(1)));
    EXPECT_THAT(feeder.workers()[0].failure, HasSubstr("the message is too large"));
  }),
              Each(IsEmpty()));
}

TEST(Feed, AWorkerThatIsGoneKeepsNoOtherFromBeingDismissed) {
  LocalWorld world(3);
  int sent = 0;
  WatchedRank trainer(world.at(0), [&sent](int, const WatchedRank::Forward& forward) {
    if (sent++ == 0) throw Error(ErrorCode::unavailable, "rank 1 is gone");
    forward();
  });
  EXPECT_EQ(error_of([&] { dismiss_workers(trainer, {1, 2}); }).message(), "rank 1 is gone");
  EXPECT_TRUE(world.at(2).receive_any(std::chrono::seconds(0)));
}

TEST(Feed, SeveralTrainersHaveTheirShares) {
  const auto share_of = [](const World& share, const std::string& text) -> Batches {
    EXPECT_EQ(text, "the numbers");
    return range(600) | shuffle({.buffer = 90, .seed = 4}) |
           shard({.count = share.size, .index = share.rank}) | batch(10) | in_columns();
  };
  LocalWorld world(4);  // two trainers, two workers
  const auto errors = world.run([&](Communicator& rank) {
    const int own = rank.world().rank;
    if (own >= 2) {
      const ServedSteps served = serve_steps(rank, share_of, {.trainers = {0, 1}});
      EXPECT_GT(served.steps, 0U);
      EXPECT_LE(served.opened, served.ranges);
      return;
    }
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      Feeder feeder(rank, {.workers = {2, 3},
                           .pipeline = "the numbers",
                           .share = {own, 2},
                           .range_steps = 2,
                           .epoch = epoch});
      EXPECT_EQ(take_rest(feeder), alone(share_of({own, 2}, "the numbers"), {.epoch = epoch}));
    }
    dismiss_workers(rank, {2, 3});
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Feed, OneWorkerGoesOnWithoutSeeking) {
  LocalWorld world(2);
  const auto errors = world.run([&](Communicator& rank) {
    if (rank.world().rank == 1) {
      const auto served = serve_steps(
          rank, [](const World&, const std::string&) { return pipeline(0); }, {.trainers = {0}});
      EXPECT_EQ(served.opened, 1U);
      EXPECT_GT(served.ranges, 10U);
      return;
    }
    Feeder feeder(rank, {.workers = {1}, .range_steps = 4});
    EXPECT_EQ(take_rest(feeder), alone(pipeline(0)));
    dismiss_workers(rank, {1});
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Feed, AWorkerNamesASilentTrainer) {
  LocalWorld world(2, {{.rank = 0, .kind = PlannedFailure::falls_silent}});
  const std::vector<std::string> errors = world.run([](Communicator& rank) {
    if (rank.world().rank == 0) barrier(rank, "a step");
    serve_steps(rank, [](const World&, const std::string&) { return Batches(); },
                {.trainers = {0}});
  });
  EXPECT_THAT(errors[1], HasSubstr("rank 0 has not answered"));
}

}  // namespace
}  // namespace infeed::test
