#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "test_seed.h"

namespace infeed::test {

/// Randomness of one test, whose failures print the seed.
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t salt = 0)
      : trace_(__FILE__, __LINE__, "INFEED_TEST_SEED=" + std::to_string(test_seed())),
        words_(test_seed() + salt) {}

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

 private:
  ::testing::ScopedTrace trace_;
  std::mt19937_64 words_;
};

}  // namespace infeed::test
