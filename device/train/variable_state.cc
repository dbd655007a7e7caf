#include "infeed/device/variable_state.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include <infeed/error.h>

namespace infeed {
namespace {

/// Number of another model's tensors that an error names; the rest is counted.
constexpr std::size_t kNamedMax = 4;

/// Returns "a, b, c, d and 2 more".
std::string some_of(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamedMax);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

bool begins_with_one(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

TrainingState state_of(std::uint64_t step, const std::vector<Variable>& variables) {
  TrainingState state{.step = step};
  for (const Variable& variable : variables) {
    state.tensors.push_back({variable.name(), variable.value()});
  }
  return state;
}

void restore_variables(const TrainingCheckpoint& saved, const std::vector<Variable>& variables,
                       std::span<const std::string_view> except) {
  std::vector<std::string> differences;
  std::vector<const TrainingCheckpoint::TensorPlace*> places;
  for (const Variable& variable : variables) {
    const TrainingCheckpoint::TensorPlace* const place = saved.find_tensor(variable.name());
    places.push_back(place);
    if (place == nullptr) {
      differences.push_back(
          fmt::format("{} {} isn't in it", variable.name(), variable.shape().to_string()));
    } else if (place->dtype != DType::float32) {
      differences.push_back(
          fmt::format("{} is {} in it and float32 here", variable.name(), to_string(place->dtype)));
    } else if (!(place->shape == variable.shape())) {
      differences.push_back(fmt::format("{} is {} in it and {} here", variable.name(),
                                        place->shape.to_string(), variable.shape().to_string()));
    }
  }
  for (const TrainingCheckpoint::TensorPlace& place : saved.tensors()) {
    const bool is_known = std::ranges::any_of(
        variables, [&](const Variable& variable) { return variable.name() == place.name; });
    if (!is_known && !begins_with_one(place.name, except)) {
      differences.push_back(fmt::format("{} {} isn't here", place.name, place.shape.to_string()));
    }
  }
  if (!differences.empty()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the checkpoint is of another model or optimiser: {}; build the one "
                            "that it was saved from, or begin in another folder",
                            some_of(differences)))
        .at_file(saved.folder());
  }
  std::vector<Tensor> values;
  for (const TrainingCheckpoint::TensorPlace* const place : places) {
    values.push_back(saved.read(*place));
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    Variable variable = variables[i];
    variable.assign(values[i]);
  }
}

}  // namespace infeed
