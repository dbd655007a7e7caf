#pragma once

#include <cstdint>
#include <string_view>

#include <infeed/device/schedule.h>

/// Why: each model learns well with its own epochs, batch and rate, and they are the same wherever it is
/// trained.
namespace infeed::tools {

struct TrainRecipe {
  std::string_view model;
  int epochs = 0;
  std::int64_t batch = 0;
};

/// `model`: of nn::model_names().
TrainRecipe recipe_of(std::string_view model);

/// The rate of so many steps.
nn::Schedule rate_of(std::string_view model, std::uint64_t steps);

}  // namespace infeed::tools
