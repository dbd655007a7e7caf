#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "device/train/small_training.h"
#include "world/local_world.h"

namespace infeed::test {

inline constexpr std::int64_t kEpochs = 2;
inline constexpr std::int64_t kStepsAnEpoch = 17;
inline constexpr std::int64_t kSteps = kEpochs * kStepsAnEpoch;
inline constexpr int kRanksMax = 4;

/// Shuffles, maps at random, and gives batches that eight replicas share unevenly; the last one of
/// an epoch leaves some without rows.
inline Dataset<ColumnBatch> batches(std::uint64_t seed = 3) { return augmented_points(197, seed); }

struct RankRun {
  std::optional<FitResult> result;
  std::vector<std::vector<float>> weights;
};

/// Saves like the rank's own callback, but not once the rank is dead: here its thread lives on.
class SaveUnlessDead : public SaveCheckpoints {
 public:
  using SaveCheckpoints::SaveCheckpoints;
  void on_cancelled(FitControl&) override {}
};

/// One rank's part of a training: dropout, running statistics, gradients of several batches,
/// validation, saving.
struct RankTraining {
  std::string folder = {};  ///< for checkpoints; empty: none
  std::int64_t every_steps = 0;
  std::int64_t stop_at = 0;  ///< step behind which a rank is asked to stop
  int stopped_rank = 0;
  bool stops_at_start = false;  ///< the rank is asked to stop before it begins
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  std::uint64_t seed = 9;
  std::uint64_t order_seed = 3;
  std::uint64_t model_seed = 7;
  std::function<void(int rank, std::int64_t step)> on_step = {};
  int dead_rank = -1;

  RankRun run(Communicator* communicator) const {
    const int rank = communicator == nullptr ? 0 : communicator->world().rank;
    SmallTraining small(0.2, model_seed);
    std::stop_source source;
    if (stops_at_start && rank == stopped_rank) source.request_stop();
    FitOptions options{.epochs = kEpochs,
                       .batches_per_update = 4,
                       .clip_norm = 0.5,
                       .seed = seed,
                       .validation = from_columns(points(40, 2), 13),
                       .resume_from = folder,
                       .callbacks = callbacks,
                       .worker = {.communicator = communicator},
                       .threads = 1,
                       .iterate = {.order_hash = true},
                       .stop = source.get_token(),
                       .on_step = [&](std::int64_t step, const Metrics&) {
                         if (step == stop_at && rank == stopped_rank) source.request_stop();
                         if (on_step) on_step(rank, step);
                       }};
    if (!folder.empty()) {
      const SaveCheckpointsOptions saving{
          .folder = folder,
          .every_steps = every_steps,
          .save = {.keep = 1, .durability = Durability::leave_to_system}};
      options.callbacks.push_back(rank == dead_rank ? std::make_shared<SaveUnlessDead>(saving)
                                                    : std::make_shared<SaveCheckpoints>(saving));
    }
    RankRun done;
    done.result = fit(small.training(), Slice::parse("v3-8"), batches(order_seed), options);
    done.weights = small.weights();
    return done;
  }
};

struct WorldRun {
  std::vector<RankRun> ranks;
  std::vector<std::string> errors;
};

inline WorldRun run_ranks(int ranks, const RankTraining& training,
                          std::vector<PlannedFailure> failures = {}) {
  WorldRun run;
  run.ranks.resize(static_cast<std::size_t>(ranks));
  LocalWorld world(ranks, std::move(failures));
  run.errors = world.run([&](Communicator& communicator) {
    run.ranks[static_cast<std::size_t>(communicator.world().rank)] = training.run(&communicator);
  });
  return run;
}

inline void expect_same(const RankRun& found, const RankRun& expected) {
  ASSERT_TRUE(found.result.has_value());
  EXPECT_EQ(found.weights, expected.weights);
  EXPECT_EQ(found.result->steps, expected.result->steps);
  EXPECT_EQ(found.result->order_hash, expected.result->order_hash);
  EXPECT_EQ(found.result->epochs, expected.result->epochs);
}

}  // namespace infeed::test
