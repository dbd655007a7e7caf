#pragma once

#include <chrono>
#include <stop_token>
#include <thread>
#include <time.h>
#include <vector>

#include <infeed/pipeline/executor.h>

namespace infeed::test {

/// Spins, since a sleep may take a thousand times as long.
inline void be_busy_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

/// Computes for so much time on a core, however often others have it meanwhile.
inline void compute_for(std::chrono::nanoseconds time) {
  const auto now = [] {
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
  };
  const auto end = now() + time;
  while (now() < end) {
  }
}

/// Threads that compute without end, several a core that the process may use: in a container that
/// may use two of a large machine's, several of each kept the tests' threads waiting for seconds.
class BusyCores {
 public:
  BusyCores() {
    for (int i = 0; i < 6 * usable_cores(); ++i) {
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
        }
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace infeed::test
