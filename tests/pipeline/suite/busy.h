#pragma once

#include <chrono>
#include <thread>

namespace infeed::test {

/// No sleep, which may take a thousand times as long.
inline void be_busy_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace infeed::test
