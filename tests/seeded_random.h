#pragma once

#include <gtest/gtest.h>
#include <random>
#include <string>

#include "test_seed.h"

namespace infeed::test {

/// Randomness of one test, whose failures print the seed.
class SeededRandom : public std::mt19937_64 {
 public:
  SeededRandom() : std::mt19937_64(test_seed()) {}

 private:
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__,
                                      "INFEED_TEST_SEED=" + std::to_string(test_seed())};
};

}  // namespace infeed::test
