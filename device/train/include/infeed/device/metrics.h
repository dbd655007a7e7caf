#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace infeed {

/// A metric of one's own, summed over examples.
struct NamedSum {
  std::string name = {};  ///< without blanks
  double sum = 0;
  friend bool operator==(const NamedSum&, const NamedSum&) = default;
};

/// Why: sums and counts, so that those of replicas with uneven shares, and of many steps, add up.
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
  /// Returns the mean of a metric of one's own; 0 for a name that nobody has given.
  double mean(std::string_view name) const;
  Metrics& operator+=(const Metrics& other);
  friend bool operator==(const Metrics&, const Metrics&) = default;
};

}  // namespace infeed
