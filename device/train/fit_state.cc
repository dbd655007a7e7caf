#include "train/fit_state.h"

#include <fmt/format.h>
#include <string_view>

#include "train/fit_checks.h"

namespace infeed::detail {
namespace {

constexpr std::string_view kProgressText = "fit";
constexpr std::string_view kConfigurationText = "configuration";
/// Gradients that wait for their update are saved below this name.
constexpr std::string_view kGroupPrefix = "accumulated/";
constexpr std::string_view kCallbackPrefix = "callback.";

/// Name under which the place of each pipeline is saved.
std::string pipeline_text(std::size_t number) {
  return number == 0 ? "pipeline" : fmt::format("pipeline.{}", number);
}

}  // namespace

TrainingState training_state(const FitState& fit) {
  TrainingState state =
      state_of(static_cast<std::uint64_t>(fit.progress.step), fit.scope.variables());
  for (const auto& [variable, gradient] : fit.group) {
    state.tensors.push_back({std::string(kGroupPrefix) + variable.name(), gradient});
  }
  std::size_t number = 0;
  for (const Checkpoint& place : fit.places) {
    state.bytes.push_back({pipeline_text(number++), place.to_text()});
  }
  state.bytes.push_back({std::string(kProgressText), fit.progress.to_text()});
  state.bytes.push_back({std::string(kConfigurationText), fit.configuration});
  for (const NamedBytes& callback : fit.callbacks) {
    state.bytes.push_back({std::string(kCallbackPrefix) + callback.name, callback.bytes});
  }
  return state;
}

FitProgress restore_progress(const TrainingCheckpoint& saved, const std::string& configuration,
                             const std::string& folder) {
  check_configuration(saved.bytes(kConfigurationText), configuration, folder);
  return FitProgress::from_text(saved.bytes(kProgressText));
}

Gradients restore_tensors(const TrainingCheckpoint& saved, const Scope& scope,
                          const std::string& folder) {
  const std::string_view except[] = {kGroupPrefix};
  restore_variables(saved, scope.variables(), except);
  Gradients group;
  for (const TrainingCheckpoint::TensorPlace& place : saved.tensors()) {
    if (!place.name.starts_with(kGroupPrefix)) continue;
    const std::string_view name = std::string_view(place.name).substr(kGroupPrefix.size());
    group.emplace_back(variable_named(name, scope, folder), saved.read(place));
  }
  return group;
}

std::vector<Checkpoint> restore_places(const TrainingCheckpoint& saved) {
  std::vector<Checkpoint> places;
  while (const auto* const place = saved.find_bytes(pipeline_text(places.size()))) {
    places.push_back(Checkpoint::from_text(saved.read(*place)));
  }
  return places;
}

void restore_callbacks(const TrainingCheckpoint& saved,
                       std::span<const std::shared_ptr<Callback>> callbacks) {
  for (const std::shared_ptr<Callback>& callback : callbacks) {
    const auto* const place =
        saved.find_bytes(std::string(kCallbackPrefix) + std::string(callback->name()));
    if (place != nullptr) callback->restore(saved.read(*place));
  }
}

std::vector<NamedBytes> states_of(std::span<const std::shared_ptr<Callback>> callbacks) {
  std::vector<NamedBytes> states;
  for (const auto& callback : callbacks) {
    states.push_back({std::string(callback->name()), callback->state()});
  }
  return states;
}

}  // namespace infeed::detail
