#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace infeed::test {

/// The random numbers of one drawn pipeline, which depend only on the seed and the pipeline's
/// number.
class Words {
 public:
  Words(std::uint64_t seed, std::uint64_t number)
      : words_(seed * 0x9E3779B97F4A7C15 ^ (number + 1) * 0xD1B54A32D192ED03) {
    words_.discard(4);
  }

  std::uint64_t operator()() { return words_(); }
  /// Draws from 0 .. bound-1.
  std::uint64_t below(std::uint64_t bound) { return words_() % bound; }
  /// Draws from low .. high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool chance(double probability) {
    return static_cast<double>(words_() >> 11) * 0x1p-53 < probability;
  }
  template <class T>
  const T& any(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  /// Draws mostly small numbers: 0 .. bound-1, each magnitude as likely.
  std::int64_t rather_small(std::int64_t bound) {
    std::int64_t limit = 1;
    while (limit < bound && chance(0.75)) limit *= 2;
    return static_cast<std::int64_t>(
        below(static_cast<std::uint64_t>(limit < bound ? limit : bound)));
  }

 private:
  std::mt19937_64 words_;
};

}  // namespace infeed::test
