#pragma once

#include <cstdlib>

namespace infeed::test {

/// Returns true if a test runs all of its cases where it otherwise runs those that the seed
/// (test_seed.h) draws: INFEED_TEST_ALL is in the environment, as tests/run.sh --all has it.
inline bool tests_all() { return std::getenv("INFEED_TEST_ALL") != nullptr; }

}  // namespace infeed::test
