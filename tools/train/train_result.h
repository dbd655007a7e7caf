#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/tape.h>

#include "train/device_tricks.h"
#include "train/train_ablation.h"
#include "train/train_learning.h"
#include "train/train_networks.h"
#include "train/train_shards.h"
#include "train/train_twice.h"

/// Why: the results of `infeed train` for programs (--json).
namespace infeed::tools {

struct TrainResultFile {
  std::string slice;
  std::int64_t batch = 0;
  std::uint64_t seed = 0;
  int threads = 0;
  std::string model_cost;  ///< name of the workload whose step paced `runs`
  StepTime step;
  TrainShards training_shards;
  TrainShards test_shards;
  std::vector<MeasuredRun> runs;           ///< the device fed ahead, as a TPU host does it
  std::vector<NetworkRow> networks;        ///< none with --train-only
  std::vector<DeviceTrick> device_tricks;  ///< none with --train-only
  std::vector<TrainedTwice> twice;         ///< none after a --resume
  LearnResult learning;
  std::string model;
  Precision precision = Precision::float32;
  std::int64_t training_batch = 0;
  std::string checkpoint_folder;
  std::string log_folder;
  double seconds = 0;
};

/// Images a second of the last run divided by those of the first.
double speedup(const std::vector<MeasuredRun>& runs);

/// JSON, whose fields tools/README.md lists.
std::string to_json(const TrainResultFile& result);

}  // namespace infeed::tools
