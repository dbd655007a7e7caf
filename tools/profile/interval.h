#pragma once

#include <algorithm>
#include <cstdint>

namespace infeed::tools {

/// A part of a recorded run's time.
struct Interval {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;

  std::uint64_t overlap_ns(const Interval& other) const {
    const std::uint64_t begin = std::max(begin_ns, other.begin_ns);
    const std::uint64_t end = std::min(end_ns, other.end_ns);
    return end - std::min(begin, end);
  }
};

}  // namespace infeed::tools
