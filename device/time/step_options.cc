#include "infeed/device/step_options.h"

#include <array>

#include "refuse.h"

namespace infeed {
namespace {

struct OptimizerCost {
  std::string_view name;
  std::int64_t values_moved;
  std::int64_t slots;
};

// In the order of the enumerators.
constexpr std::array<OptimizerCost, 5> kOptimizers = {
    {{"sgd", 3, 0}, {"momentum", 5, 1}, {"adam", 7, 2}, {"lars", 7, 1}, {"adamw", 7, 2}}};

const OptimizerCost& cost_of(StepOptimizer optimizer) {
  return kOptimizers.at(static_cast<std::size_t>(optimizer));
}

}  // namespace

std::string_view to_string(StepOptimizer optimizer) { return cost_of(optimizer).name; }

StepOptimizer step_optimizer_from(std::string_view name) {
  for (std::size_t i = 0; i < kOptimizers.size(); ++i) {
    if (kOptimizers.at(i).name == name) return static_cast<StepOptimizer>(i);
  }
  detail::refuse("unknown optimiser '{}'; known: sgd, momentum, adam, lars, adamw", name);
}

std::int64_t update_bytes(StepOptimizer optimizer) { return 4 * cost_of(optimizer).values_moved; }

std::int64_t optimizer_slots(StepOptimizer optimizer) { return cost_of(optimizer).slots; }

Precision precision_on_tpu(Precision precision) {
  return precision == Precision::mixed_float16 ? Precision::mixed_bfloat16 : precision;
}

std::int64_t bytes_of_activation(Precision precision) {
  if (precision == Precision::mixed_float16) {
    detail::refuse(
        "mixed_float16 on a TPU, whose arrays don't have it; use mixed_bfloat16, which needs no "
        "loss scaling, or float32");
  }
  return precision == Precision::float32 ? 4 : 2;
}

}  // namespace infeed
