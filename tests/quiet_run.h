#pragma once

#include <chrono>
#include <concepts>

namespace infeed::test {

/// Runs `run` again until it returns true, for a minute; returns whether it ever did. For figures of time, which are
/// wrong wherever the machine takes the core away for a moment: a defect makes all runs wrong, other load only some.
template <std::predicate Run>
bool holds_in_a_quiet_run(Run run) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  do {
    if (run()) return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace infeed::test
