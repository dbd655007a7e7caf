#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/device/fit.h>
#include <infeed/device/schedule.h>
#include <infeed/device/slice.h>
#include <infeed/device/tape.h>
#include <infeed/pipeline/executor.h>

#include "train/feed_ranks.h"
#include "train/train_pipelines.h"

/// Why: a pipeline that delivers fast but wrong data would look fine until somebody trains with it.
/// So a model is really trained, data-parallel over the slice's replicas, on the tuned pipeline's
/// data.
namespace infeed::tools {

struct EpochResult {
  int epoch = 0;  ///< from 1
  double loss = 0;
  double accuracy = 0;  ///< on the training images, before each update
  double test_loss = 0;
  double test_accuracy = 0;
  double learning_rate = 0;  ///< rate of the step after the epoch
  double seconds = 0;
  double slice_seconds = 0;  ///< by the slice's clock, without compiling; of the run so far
};

struct LearnFiles {
  /// The state after each of the last epochs, with the tuner's state beside the folder
  /// (tuning_profile.h). Those of an earlier training are removed, unless this one resumes from
  /// them.
  std::string checkpoint_folder = {};  ///< empty: none
  std::int64_t checkpoint_steps = 0;   ///< also the state after so many steps; 0: epochs only
  bool resume = false;
  std::string log_folder = {};  ///< empty: none; event files go to its folders train and validation
};

struct LearnOptions {
  std::string model = "mlp";  ///< one of model_names()
  Precision precision = Precision::float32;
  PipelineOptions training;
  std::int64_t images = 0;  ///< in the training's shards
  PipelineOptions test;
  Tricks tricks = Tricks::all();        ///< for the training's pipeline
  InfeedFeed feed = InfeedFeed::ahead;  ///< for the replicas' queues
  std::int64_t batches_per_update = 1;
  int epochs = 1;
  int epochs_of_rate = 0;  ///< number for which the rate's schedule is made; 0: `epochs`
  std::uint64_t seed = 0;
  /// Makes the rate of each update, for their total number.
  std::function<nn::Schedule(std::uint64_t updates)> rate;
  int threads = 0;                ///< threads of the arithmetic; 0: one a core
  Communicator* ranks = nullptr;  ///< as FitOptions::communicator
  FeedRanks feed_workers = {};
  std::shared_ptr<Executor> executor = nullptr;
  LearnFiles files = {};
  std::stop_token stop = {};
  std::function<void(const EpochResult&)> on_epoch = {};
  /// Called after each step.
  std::function<void(int epoch, std::int64_t step, std::int64_t steps_per_epoch)> on_step = {};
};

struct LearnResult {
  std::vector<double> losses;       ///< one a step: the same seed gives the same bits
  std::vector<EpochResult> epochs;  ///< epochs before a resume took no seconds
  std::int64_t resumed_at = 0;      ///< the step; 0: the training began anew
  std::int64_t steps_per_epoch = 0;
  std::uint32_t weights_crc32c = 0;  ///< over all variables, the optimiser's included
  FitResult fit;  ///< both accounts, the batches' order, compilations, the tuner's report
  double seconds = 0;
};

/// Throws cancelled when stopped: checkpoint and event files of the epochs before are whole.
LearnResult learn(const Slice& slice, const LearnOptions& options);

/// Returns the folder in `logs` for the event files of a training of this name: a new one by the
/// time of day, or the newest existing one if the training `goes_on`.
std::string log_folder_of(const std::string& logs, const std::string& name, bool goes_on);

}  // namespace infeed::tools
