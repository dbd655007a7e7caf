#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::test {

/// Sets every knob to another value each time it is asked.
class RandomKnobs final : public TuningPolicy {
 public:
  explicit RandomKnobs(std::uint64_t seed) : words_(seed) {}

  TuningDecision observe(const TuningObservation& seen) override {
    constexpr std::int64_t kMost = 9;
    TuningDecision decision;
    for (const KnobState& knob : seen.knobs) {
      const std::int64_t values = std::min(knob.max, knob.min + kMost) - knob.min + 1;
      const auto step = static_cast<std::int64_t>(words_() % static_cast<std::uint64_t>(values));
      decision.settings.push_back({knob.id, knob.min + step});
    }
    return decision;
  }

 private:
  std::mt19937_64 words_;
};

/// Returns a tuner that drives the knobs at random, once a millisecond.
inline TunerOptions random_knobs(std::uint64_t seed) {
  return {.look_every = std::chrono::milliseconds(1),
          .policy = std::make_shared<RandomKnobs>(seed)};
}

}  // namespace infeed::test
