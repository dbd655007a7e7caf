#include <fmt/format.h>
#include <future>
#include <gmock/gmock.h>
#include <thread>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/training_checkpoint.h>

#include "ranks/rank_training.h"
#include "seeded_random.h"
#include "temporary_folder.h"

/// Ranks that are lost while they train, and what the others save.
namespace infeed::test {
namespace {

TEST(LostRanks, ALostRankIsNamedAndTheLastWholeStepIsSaved) {
  SeededRandom random;
  const RankRun expected = RankTraining{}.run(nullptr);
  for (int turn = 0; turn < 8; ++turn) {
    const TemporaryFolder folder;
    const int ranks = 2 + static_cast<int>(random() % 3);
    // The chief at least once: then rank 1 saves.
    const int lost = turn == 0 ? 0 : static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
    const auto kind = random() % 2 == 0 ? PlannedFailure::dies : PlannedFailure::falls_silent;
    const std::uint64_t call = 30 + random() % 120;
    SCOPED_TRACE(fmt::format("turn {}: rank {} of {} is lost at call {}", turn, lost, ranks, call));
    std::int64_t done = 0;
    RankTraining training{.folder = folder.path(), .dead_rank = lost};
    training.on_step = [&](int rank, std::int64_t step) {
      if (rank == (lost == 0 ? 1 : 0)) done = step;
    };
    const WorldRun run =
        run_ranks(ranks, training, {{.rank = lost, .kind = kind, .at_call = call}});
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == lost) continue;
      EXPECT_THAT(run.errors[static_cast<std::size_t>(rank)],
                  testing::HasSubstr(fmt::format("rank {} has not answered", lost)));
    }
    ASSERT_GT(done, 0);
    ASSERT_LT(done, kSteps);
    // It goes on behind the last whole step, on another number of ranks.
    const WorldRun resumed = run_ranks(ranks == 3 ? 4 : 3, {.folder = folder.path()});
    for (const std::string& error : resumed.errors) ASSERT_EQ(error, "");
    EXPECT_EQ(resumed.ranks[0].result->resumed_at, done);
    for (const RankRun& rank : resumed.ranks) expect_same(rank, expected);
  }
}

/// Notes the epochs that its own rank has ended.
class CountedEpochs : public Callback {
 public:
  std::string_view name() const override { return "counted_epochs"; }
  void on_epoch_end(FitControl&, const EpochLogs&) override { ++epochs_; }
  std::string state() const override { return fmt::format("{} epochs", epochs_); }

 private:
  int epochs_ = 0;
};

TEST(LostRanks, WhatIsSavedInPlaceOfALostChiefIsWhatItWouldHaveSaved) {
  std::vector<std::string> saved;
  for (const bool is_lost : {false, true}) {
    const TemporaryFolder folder;
    RankTraining training{.folder = folder.path(), .dead_rank = is_lost ? 0 : -1};
    // Steps of the second epoch.
    training.stop_at = is_lost ? 0 : kStepsAnEpoch + 3;
    LocalWorld world(3);
    std::vector<std::string> errors = world.run([&](Communicator& communicator) {
      RankTraining own = training;
      own.callbacks = {std::make_shared<CountedEpochs>()};
      own.on_step = [&](int rank, std::int64_t step) {
        if (is_lost && rank == 0 && step == kStepsAnEpoch + 3) world.fail(0);
      };
      own.run(&communicator);
    });
    EXPECT_EQ(errors[1].empty(), !is_lost) << errors[1];
    const auto newest = latest_training_checkpoint(folder.path());
    ASSERT_TRUE(newest.has_value());
    EXPECT_EQ(TrainingCheckpoint::open(*newest).bytes("callback.counted_epochs"), "1 epochs");
    saved.push_back(newest->substr(newest->rfind('/')));
    for (const char* const file : {"/tensors", "/bytes"}) {
      saved.back() += read_file(File::open_to_read(*newest + file));
    }
  }
  EXPECT_TRUE(saved[0] == saved[1]);
}

/// Notes by which threads it is told to save.
class SavingThreads : public Callback {
 public:
  std::string_view name() const override { return "saving_threads"; }
  void on_cancelled(FitControl&) override { note(); }
  void on_chief_lost(FitControl&) override { note(); }

  std::vector<std::thread::id> threads;
  std::promise<void> saved;

 private:
  void note() {
    threads.push_back(std::this_thread::get_id());
    if (threads.size() == 1) saved.set_value();
  }
};

/// A launcher that finds a rank dead gives the others a second to end.
TEST(LostRanks, AChiefOrItsDeputyThatIsToldToStopSavesWhileItWaitsForASilentRank) {
  constexpr std::int64_t kStep = 6;
  const RankRun expected = RankTraining{}.run(nullptr);
  for (const auto& [told, silent] : {std::pair(0, 2), std::pair(1, 0)}) {
    const int silent_rank = silent;
    const TemporaryFolder folder;
    const auto saving = std::make_shared<SavingThreads>();
    std::thread::id chief;
    RankTraining training{.folder = folder.path(), .stop_at = kStep, .stopped_rank = told};
    training.callbacks = {saving};
    training.on_step = [&](int rank, std::int64_t step) {
      if (rank == 0) chief = std::this_thread::get_id();
      if (rank == silent_rank && step == kStep) saving->saved.get_future().wait();
    };
    const WorldRun run = run_ranks(3, training);
    for (const std::string& error : run.errors) ASSERT_EQ(error, "");
    ASSERT_EQ(saving->threads.size(), 2U);
    EXPECT_NE(saving->threads[0], chief);  // the other was silent
    EXPECT_EQ(saving->threads[1], chief);
    const WorldRun resumed = run_ranks(2, {.folder = folder.path()});
    EXPECT_EQ(resumed.ranks[0].result->resumed_at, kStep);
    for (const RankRun& rank : resumed.ranks) expect_same(rank, expected);
  }
}

}  // namespace
}  // namespace infeed::test
