#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace infeed::test {

/// Returns the seed of random tests: the environment's INFEED_TEST_SEED, or always the same one, so
/// that a failure can be repeated.
inline std::uint64_t test_seed() {
  const char* const given = std::getenv("INFEED_TEST_SEED");
  return given != nullptr ? std::stoull(given) : 20'240'511;
}

}  // namespace infeed::test
