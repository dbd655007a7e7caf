#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>

#include "train/train_ablation.h"

/// Why: a network that asks for more than the tuned pipeline delivers, or for less than the naive
/// one does, shows nothing. How fast they are depends on the machine and on what else it does, so
/// the network that paces the comparison is chosen by what was measured there and then.
namespace infeed::tools {

/// What the two pipelines take for a batch when no device holds them up.
struct BatchTimes {
  double naive_us = 0;
  double tuned_us = 0;
};

/// From runs on a device whose steps are so short that it always waits.
BatchTimes batch_times(const MeasuredRun& naive, const MeasuredRun& tuned);

/// A network that may pace the comparison.
struct Pace {
  std::string network;
  StepTime step;
};

/// The networks for 28x28 images, the shortest step first.
std::vector<Pace> paces_of(const Slice& slice, std::int64_t batch);

struct ChosenPace {
  Pace pace;
  bool fits = false;
};

/// The first with which the naive pipeline should be HIGHLY input-bound and the tuned one not, with
/// some room for what changes from second to second, and which does so when it is tried: the
/// shorter the step, the more the tricks show. If there is none, the one that comes nearest.
ChosenPace choose_pace(const std::vector<Pace>& paces, const BatchTimes& times,
                       const std::function<bool(const Pace&)>& fits_when_tried);

/// "Chosen by measuring: ...", a line each.
std::vector<std::string> reason_for(const ChosenPace& chosen, const BatchTimes& times);

}  // namespace infeed::tools
