#include "events/value_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace infeed::detail {
namespace {

std::vector<double> bucket_limits() {
  constexpr double kFirst = 1e-12, kEnd = 1e20, kGrowth = 1.1;
  std::vector<double> limits;
  for (double limit = kFirst; limit < kEnd; limit *= kGrowth) limits.push_back(limit);
  limits.push_back(std::numeric_limits<double>::max());
  std::vector<double> all;
  all.reserve(2 * limits.size() + 1);
  for (auto limit = limits.rbegin(); limit != limits.rend(); ++limit) all.push_back(-*limit);
  all.push_back(0);
  all.insert(all.end(), limits.begin(), limits.end());
  return all;
}

}  // namespace

ValueHistogram::ValueHistogram(std::span<const float> values) {
  static const std::vector<double> limits = bucket_limits();
  std::vector<std::int64_t> counts(limits.size());
  for (const double value : values) {
    if (!std::isfinite(value)) {
      ++not_finite;
      continue;
    }
    min = count == 0 ? value : std::min(min, value);
    max = count == 0 ? value : std::max(max, value);
    sum += value;
    sum_squares += value * value;
    ++count;
    ++counts[static_cast<std::size_t>(std::ranges::upper_bound(limits, value) - limits.begin())];
  }
  // Outer empty buckets are left out: tensorboard's data server draws the first and the last bucket
  // as reaching to the minimum and maximum, whatever their counts.
  std::int64_t left = count;
  for (std::size_t i = 0; left > 0; ++i) {
    left -= counts[i];
    if (left == count) continue;
    if (counts[i] == 0 && buckets.back().count == 0) {
      buckets.back().limit = limits[i];
    } else {
      buckets.push_back({.limit = limits[i], .count = counts[i]});
    }
  }
  if (buckets.empty()) buckets.push_back({.limit = limits.back(), .count = 0});
}

}  // namespace infeed::detail
