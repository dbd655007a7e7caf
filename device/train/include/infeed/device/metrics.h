#pragma once

#include <cstdint>

namespace infeed {

/// Why: sums and counts, so that those of replicas with uneven shares, and of many steps, add up.
///
///     infeed::Metrics epoch;
///     epoch += infeed::Metrics{.examples = 128, .correct = 96, .loss_sum = 64.0};
///     double accuracy = epoch.accuracy();                        // 0.75
struct Metrics {
  std::int64_t examples = 0;
  std::int64_t correct = 0;
  double loss_sum = 0;

  /// Means; 0 over no examples.
  double loss() const { return examples == 0 ? 0 : loss_sum / static_cast<double>(examples); }
  double accuracy() const {
    return examples == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(examples);
  }
  Metrics& operator+=(const Metrics& other) {
    examples += other.examples;
    correct += other.correct;
    loss_sum += other.loss_sum;
    return *this;
  }
  friend bool operator==(const Metrics&, const Metrics&) = default;
};

}  // namespace infeed
