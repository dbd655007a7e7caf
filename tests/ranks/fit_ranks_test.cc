#include <fmt/format.h>
#include <gmock/gmock.h>

#include <infeed/error.h>

#include "ranks/rank_training.h"
#include "seeded_random.h"
#include "temporary_folder.h"

namespace infeed::test {
namespace {

TEST(FitRanks, GiveTheWeightsOfOneProcess) {
  const RankRun expected = RankTraining{}.run(nullptr);
  ASSERT_EQ(expected.result->steps, kSteps);
  ASSERT_NE(expected.result->order_hash, 0U);
  for (const int ranks : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(fmt::format("{} ranks", ranks));
    const WorldRun run = run_ranks(ranks, {});
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      ASSERT_EQ(run.errors[rank], "");
      expect_same(run.ranks[rank], expected);
    }
    // The chief keeps the slice's account.
    EXPECT_EQ(run.ranks[0].result->simulated.steps, expected.result->simulated.steps);
  }
}

TEST(FitRanks, StoppedAtDrawnStepsAndResumedOnOtherNumbersTheyGiveTheSame) {
  SeededRandom random;
  const RankRun expected = RankTraining{}.run(nullptr);
  for (int turn = 0; turn < 6; ++turn) {
    const TemporaryFolder folder;
    std::int64_t step = 0;
    for (int begun = 0; step < kSteps; ++begun) {
      const int ranks = 1 + static_cast<int>(random() % kRanksMax);
      RankTraining training{.folder = folder.path()};
      training.stop_at = step + 1 + static_cast<std::int64_t>(random() % 16);
      training.stopped_rank = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
      // Other weights than the checkpoint's, which come from it.
      training.model_seed = begun == 0 ? 7 : 7 + random() % 100;
      SCOPED_TRACE(fmt::format("turn {}: {} ranks from step {} to {}, stopped at rank {}", turn,
                               ranks, step, training.stop_at, training.stopped_rank));
      const WorldRun run = run_ranks(ranks, training);
      for (const std::string& error : run.errors) ASSERT_EQ(error, "");
      const FitResult& chief = *run.ranks[0].result;
      EXPECT_EQ(chief.resumed_at, step);
      step = std::min(training.stop_at, kSteps);
      for (const RankRun& rank : run.ranks) ASSERT_EQ(rank.result->steps, step);
      if (chief.end == RunEnd::cancelled) continue;
      for (const RankRun& rank : run.ranks) expect_same(rank, expected);
      break;
    }
  }
}

TEST(FitRanks, ARankThatIsStoppedWhileItResumesStopsAll) {
  const TemporaryFolder folder;
  RankTraining training{.folder = folder.path(), .stop_at = 7};
  for (const std::string& error : run_ranks(2, training).errors) ASSERT_EQ(error, "");
  training.stop_at = 0;
  training.stops_at_start = true;
  training.stopped_rank = 1;
  const WorldRun run = run_ranks(3, training);
  EXPECT_EQ(run.errors[1], "cancelled: the iterator was cancelled while it resumed");
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_EQ(run.errors[rank],
              "cancelled: rank 1 was stopped: the iterator was cancelled while it resumed");
  }
  EXPECT_EQ(latest_training_checkpoint(folder.path()), folder.file("step-0000000007"));
}

TEST(FitRanks, AnErrorOfOneRankEndsAll) {
  const TemporaryFolder folder;
  RankTraining training{.folder = folder.path()};
  training.on_step = [](int rank, std::int64_t step) {
    if (rank == 1 && step == 5) throw Error(ErrorCode::data_loss, "the disk of this host is bad");
  };
  const WorldRun run = run_ranks(3, training);
  EXPECT_EQ(run.errors[1], "data_loss: the disk of this host is bad");
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_EQ(run.errors[rank], "data_loss: rank 1 failed: the disk of this host is bad");
  }
  EXPECT_EQ(latest_training_checkpoint(folder.path()), folder.file("step-0000000005"));
}

TEST(FitRanks, AnErrorOfTheChiefEndsAll) {
  RankTraining training;
  training.on_step = [](int rank, std::int64_t step) {
    if (rank == 0 && step == kStepsAnEpoch) throw std::runtime_error("no more");
  };
  const WorldRun run = run_ranks(2, training);
  EXPECT_EQ(run.errors[0], "no more");
  EXPECT_EQ(run.errors[1], "user_function: rank 0 failed: no more");
}

/// Callbacks of the chief that steer the training.
TEST(FitRanks, TheChiefsCallbacksSteerAll) {
  const auto steered = [] {
    RankTraining training;
    training.callbacks = {
        std::make_shared<EpochRate>([](std::int64_t epoch) { return epoch == 0 ? 1.0 : 0.25; })};
    return training;
  };
  const RankRun expected = steered().run(nullptr);
  WorldRun run;
  run.ranks.resize(3);
  LocalWorld world(3);
  const auto errors = world.run([&](Communicator& ranks) {
    run.ranks[static_cast<std::size_t>(ranks.world().rank)] = steered().run(&ranks);
  });
  for (const std::string& error : errors) ASSERT_EQ(error, "");
  for (const RankRun& rank : run.ranks) EXPECT_EQ(rank.weights, expected.weights);
  EXPECT_NE(expected.weights, RankTraining{}.run(nullptr).weights);
}

/// Ends the training at a step, or behind an epoch.
class EndAt : public Callback {
 public:
  EndAt(std::int64_t step, std::int64_t epoch) : step_(step), epoch_(epoch) {}
  std::string_view name() const override { return "end_at"; }
  void on_execution_end(FitControl& fit, const StepLogs& logs) override {
    if (logs.step == step_) fit.stop_training("enough steps");
  }
  void on_epoch_end(FitControl& fit, const EpochLogs& logs) override {
    if (logs.epoch == epoch_) fit.stop_training("enough epochs");
  }

 private:
  const std::int64_t step_;
  const std::int64_t epoch_;
};

TEST(FitRanks, TheChiefsCallbackEndsAll) {
  struct Case {
    std::int64_t step;
    std::int64_t epoch;
  };
  // In an epoch, at its last step, behind it, behind the last one.
  for (const Case at : {Case{5, -1}, Case{kStepsAnEpoch, -1}, Case{-1, 0}, Case{-1, kEpochs - 1}}) {
    SCOPED_TRACE(fmt::format("step {}, epoch {}", at.step, at.epoch));
    const auto ended = [&](Communicator* ranks) {
      RankTraining training;
      training.callbacks = {std::make_shared<EndAt>(at.step, at.epoch)};
      return training.run(ranks);
    };
    const RankRun expected = ended(nullptr);
    LocalWorld world(3);
    std::vector<RankRun> found(3);
    const auto errors = world.run([&](Communicator& ranks) {
      found[static_cast<std::size_t>(ranks.world().rank)] = ended(&ranks);
    });
    for (const std::string& error : errors) ASSERT_EQ(error, "");
    for (const RankRun& rank : found) expect_same(rank, expected);
  }
}

TEST(FitRanks, RanksThatDifferAreRefusedByName) {
  const auto errors_of = [](const std::function<void(RankTraining&)>& change) {
    LocalWorld world(3);
    return world.run([&](Communicator& ranks) {
      RankTraining training;
      if (ranks.world().rank == 2) change(training);
      training.run(&ranks);
    });
  };
  for (const std::string& error : errors_of([](RankTraining& of) { of.seed = 10; })) {
    EXPECT_THAT(error, testing::HasSubstr("failed_precondition: the ranks differ in 'options of "
                                          "fit()': rank 2 has"));
  }
  for (const std::string& error : errors_of([](RankTraining& of) { of.order_seed = 4; })) {
    EXPECT_THAT(error, testing::HasSubstr("the ranks differ in 'data and pipeline': rank 2 has"));
  }
  for (const std::string& error : errors_of([](RankTraining& of) { of.model_seed = 8; })) {
    EXPECT_THAT(error, testing::HasSubstr("the ranks differ in 'variables': rank 2 has"));
  }
  const TemporaryFolder folder;
  run_ranks(2, {.folder = folder.path(), .stop_at = 4});
  for (const std::string& error : errors_of([&](RankTraining& of) { of.folder = folder.path(); })) {
    EXPECT_THAT(error,
                testing::HasSubstr("the ranks differ in 'step to go on from': rank 2 has '4'"));
  }
}

TEST(FitRanks, MoreRanksThanReplicasAreRefused) {
  const WorldRun run = run_ranks(9, {});
  for (const std::string& error : run.errors) {
    EXPECT_EQ(error,
              "invalid_argument: 9 ranks for the 8 replicas of the slice: a rank would have none; "
              "start as many ranks as there are replicas, or fewer, or take a larger slice");
  }
}

TEST(FitRanks, SynchronisedReplicasAreRefused) {
  LocalWorld world(2);
  const auto errors = world.run([](Communicator& ranks) {
    SmallTraining small;
    fit(small.training(), Slice::parse("v3-8"), from_columns(points(32), 16),
        {.synchronised = true, .worker = {.communicator = &ranks}});
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, testing::HasSubstr("synchronised replicas on 2 ranks"));
  }
}

}  // namespace
}  // namespace infeed::test