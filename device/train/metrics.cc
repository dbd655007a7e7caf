#include "infeed/device/metrics.h"

#include <algorithm>

namespace infeed {

double Metrics::mean(std::string_view name) const {
  const auto found = std::ranges::find(sums, name, &NamedSum::name);
  if (examples == 0 || found == sums.end()) return 0;
  return found->sum / static_cast<double>(examples);
}

Metrics& Metrics::operator+=(const Metrics& other) {
  examples += other.examples;
  correct += other.correct;
  loss_sum += other.loss_sum;
  for (const NamedSum& more : other.sums) {
    const auto found = std::ranges::find(sums, more.name, &NamedSum::name);
    if (found == sums.end()) {
      sums.push_back(more);
    } else {
      found->sum += more.sum;
    }
  }
  return *this;
}

}  // namespace infeed
