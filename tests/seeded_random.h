#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "test_seed.h"

namespace infeed::test {

/// Randomness of one test, whose failures print the seed.
class SeededRandom : public std::mt19937_64 {
 public:
  explicit SeededRandom(std::uint64_t salt = 0) : std::mt19937_64(test_seed() + salt) {}

  /// Draws from 0 .. bound-1.
  std::uint64_t below(std::uint64_t bound) { return (*this)() % bound; }
  /// Draws from low .. high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool chance(double probability) {
    return static_cast<double>((*this)() >> 11) * 0x1p-53 < probability;
  }

 private:
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__,
                                      "INFEED_TEST_SEED=" + std::to_string(test_seed())};
};

}  // namespace infeed::test
