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

/// The learning rate of so many updates.
nn::Schedule rate_schedule(std::string_view model, std::uint64_t updates);

}  // namespace infeed::tools
