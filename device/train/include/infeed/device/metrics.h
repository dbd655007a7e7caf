#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace infeed {

/// A user-defined metric, summed over examples.
struct NamedSum {
  std::string name = {};  ///< without blanks
  double sum = 0;
  friend bool operator==(const NamedSum&, const NamedSum&) = default;
};

/// Why: metrics are sums and counts, so that replicas with uneven shares, and many steps, add up.
///
///     infeed::Metrics epoch;
///     epoch += infeed::Metrics{.examples = 128, .correct = 96, .loss_sum = 64.0};
///     double accuracy = epoch.accuracy();                        // 0.75
///     epoch += infeed::Metrics{.examples = 128, .sums = {{"top_5", 120}}};
///     double top_5 = epoch.mean("top_5");                        // 120 / 256
struct Metrics {
  std::int64_t examples = 0;
  std::int64_t correct = 0;
  double loss_sum = 0;
  std::vector<NamedSum> sums = {};  ///< ReplicaResult::sums

  /// Means; 0 over no examples.
  double loss() const { return examples == 0 ? 0 : loss_sum / static_cast<double>(examples); }
  double accuracy() const {
    return examples == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(examples);
  }
  /// Returns the mean of a user-defined metric; 0 for an unknown name.
  double mean(std::string_view name) const;
  Metrics& operator+=(const Metrics& other);
  friend bool operator==(const Metrics&, const Metrics&) = default;
};

}  // namespace infeed
