#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include <infeed/communicator.h>
#include <infeed/device/cost_model.h>
#include <infeed/device/tape.h>
#include <infeed/records/compression.h>

#include "cli/terminal.h"
#include "train/feed_ranks.h"

/// Why: the main job, end to end, on real images: convert them into record shards, feed a simulated
/// TPU with a newcomer's pipeline and with each trick of a fast one, then train.
namespace infeed::tools {

struct TrainJob {
  std::string data_folder;
  std::string work_folder;
  std::string slice = "v3-8";
  std::uint64_t seed = 42;
  std::chrono::milliseconds run_duration{4000};
  std::string model = "mlp";  ///< one of nn::model_names()
  Precision precision = Precision::float32;
  int epochs = 0;                     ///< 0: the model's own number
  std::int64_t batch = 0;             ///< batch of the training; 0: the model's own
  bool resume = false;                ///< goes on from the newest checkpoint of this model
  std::int64_t checkpoint_steps = 0;  ///< also a checkpoint after so many steps; 0: epochs only
  bool train_only = false;            ///< leaves out the comparison of pipelines
  bool all_networks =
      false;               ///< true: compares larger networks, too, and trains all that are trained
                           ///< here
  std::string model_cost;  ///< name of a workload; empty: the model's own
  std::optional<double> step_us = std::nullopt;  ///< instead of the workload's time
  Compression compression = Compression::gzip;
  std::string json_file;  ///< empty: none
  /// The ranks that train together; null: this process trains alone. They only train
  /// (`train_only`), and each gets the same job. Owned by the caller.
  Communicator* ranks = nullptr;
  FeedRanks feed = {};  ///< beside `ranks`, if others make the batches
  int threads = 0;      ///< 0: usable_cores()
};

/// Returns the folder of the training's checkpoints.
std::string checkpoint_folder_of(const TrainJob& job);

/// Prints as it goes. Throws infeed::Error; cancelled (with what was kept) after a stop request.
void run_train_job(const TrainJob& job, Terminal& terminal, const std::stop_token& stop);

}  // namespace infeed::tools
