#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "drain.h"

/// Why: limits are loops over any number of elements, each measured the same way.
namespace infeed::compare {

/// Returns the median of three repetitions of run(n), in nanoseconds an element.
template <class Run>
double repeated_ns(const RunOptions& options, Run run) {
  const auto seconds = [&](std::int64_t n) {
    const auto start = Clock::now();
    run(n);
    return seconds_since(start);
  };
  std::int64_t n = 20'000;
  while (seconds(n) < options.measure_seconds / 8) n *= 2;
  std::vector<double> repetitions;
  for (int i = 0; i < 3; ++i) repetitions.push_back(seconds(n) / static_cast<double>(n) * 1e9);
  return median(std::move(repetitions));
}

}  // namespace infeed::compare
