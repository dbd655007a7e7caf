#pragma once

#include <cstdint>
#include <string_view>

#include <infeed/device/schedule.h>

/// Why: each model has the number of epochs, batch and rate with which it learns well, the same
/// wherever it is trained.
namespace infeed::tools {

struct TrainRecipe {
  std::string_view model;
  int epochs = 0;
  std::int64_t batch = 0;
};

/// `model`: one of nn::model_names().
TrainRecipe recipe_of(std::string_view model);

/// Returns the learning rate for so many updates.
nn::Schedule rate_schedule(std::string_view model, std::uint64_t updates);

}  // namespace infeed::tools
