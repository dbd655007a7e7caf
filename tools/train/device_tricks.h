#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_graph.h>
#include <infeed/device/step_options.h>

#include "cli/terminal.h"
#include "train/train_learning.h"

/// Why: once the input keeps up, a user can still make the step shorter. Each of the device's
/// tricks is added to those before, and the time model gives its gain.
namespace infeed::tools {

struct DeviceTrick {
  std::string name;
  std::int64_t batch = 0;  ///< global
  StepOptions options;
  StepTime step;
  double examples_per_s = 0;
  double gain = 0;  ///< images a second, divided by those of the row before; 1 for the first
  /// Accuracy after so many epochs with the trick; none if it was not trained.
  std::optional<double> test_accuracy = std::nullopt;
};

/// Returns the graph of the model (model_names()), traced at its share of the batch.
StepGraph graph_of(std::string_view model, const Slice& slice, std::int64_t batch);

/// Returns the tricks for the model on the slice, without those that its memory can't hold.
std::vector<DeviceTrick> device_tricks(std::string_view model, const Slice& slice,
                                       std::int64_t batch);

/// Trains with each trick that changes the arithmetic, since time alone doesn't show what is
/// learnt. A trick that leaves the arithmetic as it is gets the accuracy `before`, without
/// training. A larger batch, or several for an update, takes the rate times the root of their
/// number, which is Adam's rule (Malladi et al., 2022). If `options.images`, an epoch, are too few
/// for one update, it isn't trained.
void learn_with_tricks(std::vector<DeviceTrick>& tricks, const Slice& slice,
                       const LearnOptions& options, double before);

/// `epochs`: the number that were trained.
void print_device_tricks(const std::vector<DeviceTrick>& tricks, int epochs, Terminal& terminal);

}  // namespace infeed::tools
