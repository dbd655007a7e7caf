#include "train/train_recipe.h"

#include <algorithm>
#include <array>

#include <infeed/device/models.h>

namespace infeed::tools {
namespace {

constexpr std::array kRecipes = {TrainRecipe{"mlp", 20, 1024}, TrainRecipe{"convnet", 6, 128},
                                 TrainRecipe{"resnet", 6, 128}, TrainRecipe{"transformer", 6, 128}};
constexpr double kMlpRate = 0.002;

}  // namespace

TrainRecipe recipe_of(std::string_view model) {
  const auto* const found = std::ranges::find(kRecipes, model, &TrainRecipe::model);
  TrainRecipe recipe = found == kRecipes.end() ? kRecipes.front() : *found;
  recipe.model = model;
  return recipe;
}

nn::Schedule rate_schedule(std::string_view model, std::uint64_t updates) {
  return model == "mlp" ? nn::constant_rate(kMlpRate) : nn::rate_for_model(model, updates);
}

}  // namespace infeed::tools
