#pragma once

#include <memory>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::autotuning {

/// A baseline: one knob up at a time, for as long as the rate grows, as the first tuners did.
std::shared_ptr<TuningPolicy> hill_climb();

}  // namespace infeed::autotuning
