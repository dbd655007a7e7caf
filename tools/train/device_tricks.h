#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>

#include "cli/terminal.h"

/// Why: once the input keeps up, the step itself is what a user can make shorter. Each of the device's
/// tricks is put on top of those before, and the time model says what it is worth.
namespace infeed::tools {

struct DeviceTrick {
  std::string name;
  std::int64_t batch = 0;  ///< global
  StepTime step;
  double examples_per_s = 0;
  double gain = 0;  ///< images a second, divided by those of the row before; 1 for the first
};

/// The model (model_names()), traced at its share of the batch, on the slice.
std::vector<DeviceTrick> device_tricks(std::string_view model, const Slice& slice,
                                       std::int64_t batch);

void print_device_tricks(const std::vector<DeviceTrick>& tricks, Terminal& terminal);

}  // namespace infeed::tools
