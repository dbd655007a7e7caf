#pragma once

#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace infeed {

/// Returns the seed of a random test: fixed, or INFEED_TEST_SEED. The test's output records it, so
/// that a failure can be repeated.
inline std::uint64_t test_seed() {
  const char* given = std::getenv("INFEED_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : 20'240'511;
  testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

}  // namespace infeed
