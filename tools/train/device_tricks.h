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

/// Why: once the input keeps up, the step itself is what a user can make shorter. Each of the device's
/// tricks is put on top of those before, and the time model says what it is worth.
namespace infeed::tools {

struct DeviceTrick {
  std::string name;
  std::int64_t batch = 0;  ///< global
  StepOptions options;
  StepTime step;
  double examples_per_s = 0;
  double gain = 0;  ///< images a second, divided by those of the row before; 1 for the first
  /// After so many epochs with it; none where it was not trained.
  std::optional<double> test_accuracy = std::nullopt;
};

/// The model (model_names()), traced at its share of the batch.
StepGraph graph_of(std::string_view model, const Slice& slice, std::int64_t batch);

/// The model on the slice; those that its memory can't hold are left out.
std::vector<DeviceTrick> device_tricks(std::string_view model, const Slice& slice,
                                       std::int64_t batch);

/// Trains with each trick that counts: they change what is learnt, so the time alone says nothing. Those that
/// leave the arithmetic as it is have the accuracy `before` without any. A larger batch, or several for an
/// update, takes the rate times the root of their number, which is Adam's rule (Malladi et al., 2022); where
/// `options.images`, an epoch, are too few for one update, it isn't trained.
void learn_with_tricks(std::vector<DeviceTrick>& tricks, const Slice& slice,
                       const LearnOptions& options, double before);

/// `epochs`: that were trained.
void print_device_tricks(const std::vector<DeviceTrick>& tricks, int epochs, Terminal& terminal);

}  // namespace infeed::tools
