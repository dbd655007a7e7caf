#pragma once

#include <cstdint>

#include "seeded_random.h"
#include "test_extent.h"

namespace infeed::test {

/// Numbers of the system calls at which a program is struck, from 1 on: one in three, drawn by the
/// seed and `salt`; each with tests_all().
///
///     DrawnCalls calls(salt);
///     for (int number = calls.next(); is_struck_at(number); number = calls.next()) ...
class DrawnCalls {
 public:
  explicit DrawnCalls(std::uint64_t salt) : random_(salt) {}

  int next() { return number_ += tests_all() ? 1 : 1 + static_cast<int>(random_.below(kStepMax)); }

 private:
  static constexpr std::uint64_t kStepMax = 5;

  SeededRandom random_;
  int number_ = 0;
};

}  // namespace infeed::test
