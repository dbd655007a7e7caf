#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "test_extent.h"
#include "test_seed.h"

namespace infeed::test {

/// Numbers of the system calls at which a program is struck, from 1 on: one in three, drawn by the
/// seed and `salt`; each with tests_all().
///
///     DrawnCalls calls(salt);
///     for (int number = calls.next(); is_struck_at(number); number = calls.next()) ...
class DrawnCalls {
 public:
  explicit DrawnCalls(std::uint64_t salt) : words_(test_seed() + salt) {}

  int next() { return number_ += tests_all() ? 1 : 1 + static_cast<int>(words_() % kStepMax); }
  static std::string seed_text() { return "INFEED_TEST_SEED=" + std::to_string(test_seed()); }

 private:
  static constexpr std::uint64_t kStepMax = 5;

  std::mt19937_64 words_;
  int number_ = 0;
};

}  // namespace infeed::test
