#pragma once

#include <functional>
#include <stop_token>

#include "infeed/device/fit.h"
#include "train/ranks/training_ranks.h"

namespace infeed::detail {

/// A training as run_as_rank() sees it.
struct RankedRun {
  std::function<FitResult()> run = {};
  /// Lets the callbacks of the chief, or of its deputy, save the last whole step; does nothing if
  /// there is none yet.
  std::function<void()> save = {};
};

/// Runs this rank's part of a training. An error of this rank ends the others, and theirs ends this
/// one; the chief then saves, or its deputy if the chief is lost. A launcher gives a rank about a
/// second between SIGTERM and the end. So both also save when they were told to stop and still wait
/// for a rank, which may never answer: first the chief, then the deputy, as it may be the chief that
/// is dead.
FitResult run_as_rank(TrainingRanks& ranks, const std::stop_token& stop, const RankedRun& training);

}  // namespace infeed::detail
