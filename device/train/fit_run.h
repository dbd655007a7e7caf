#pragma once

#include <functional>
#include <vector>

#include "infeed/device/fit.h"
#include "train/replica_steps.h"
#include "train/training_feed.h"

// The loop of fit(): epochs, executions, steps and updates, with callbacks and checkpoints.

namespace infeed::detail {

/// The data and the place of a training: a dataset on a slice, or a distributed one on a strategy.
struct FitTarget {
  Slice slice;
  ReplicaStepsOptions replicas;
  std::function<std::vector<ShareFeed>(const IterateOptions&, std::vector<Checkpoint>)> feeds;
  TrainingFeed::Options feed = {};
  /// True: the order's hash is made of the replicas' rows. The iterations' own is not asked for.
  bool hashes_rows = false;
};

/// `training` and `options` outlive the call.
FitResult run_fit(const Training& training, FitTarget target, const FitOptions& options);

}  // namespace infeed::detail
