#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>
#include <infeed/pipeline/executor.h>

#include "train/train_pipelines.h"

/// Why: a pipeline that delivers fast but wrong data would look fine until somebody trains. So the
/// 784-128-10 classifier is trained for real, data-parallel over the slice's replicas, on what the
/// tuned pipeline delivers.
namespace infeed::tools {

struct EpochResult {
  int epoch = 0;  ///< from 1
  double loss = 0;
  double accuracy = 0;  ///< on the training images, as they went by
  double test_loss = 0;
  double test_accuracy = 0;
  double seconds = 0;
};

struct LearnOptions {
  PipelineOptions training;
  PipelineOptions test;
  int epochs = 1;
  std::uint64_t seed = 0;
  double learning_rate = 0.001;
  int threads = 0;  ///< of the arithmetic; 0: one a core
  std::shared_ptr<Executor> executor = nullptr;
  /// Replaced after each epoch, with what the tuner has learnt beside it (tuning_profile.h).
  std::string checkpoint_file;
  std::string log_folder;  ///< event files go to its folders train and validation
  std::stop_token stop = {};
  std::function<void(const EpochResult&)> on_epoch = {};
  /// After each step.
  std::function<void(int epoch, std::int64_t step, std::int64_t steps_per_epoch)> on_step = {};
};

struct LearnResult {
  std::vector<double> losses;  ///< of each step: the same seed gives the same bits
  std::vector<EpochResult> epochs;
  std::int64_t steps_per_epoch = 0;
  TuningReport tuning;    ///< of the training pipeline
  StepSummary simulated;  ///< by the cost model
  double seconds = 0;
};

/// Throws cancelled when stopped: checkpoint and event files of the epochs before are whole.
LearnResult learn(const Slice& slice, const LearnOptions& options);

}  // namespace infeed::tools
