#include "core_distance.h"

#include <atomic>
#include <chrono>
#include <sched.h>
#include <thread>
#include <vector>

namespace infeed::autotuning {
namespace {

constexpr int kTurns = 50'000;

std::vector<int> cores_of_this_process() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

void stay_on(int core) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  sched_setaffinity(0, sizeof only, &only);
}

/// Waits for its turn and passes it on, again and again.
void take_turns(std::atomic<int>& turn, int mine) {
  for (int i = 0; i < kTurns; ++i) {
    while (turn.load(std::memory_order_acquire) != mine) {
    }
    turn.store(1 - mine, std::memory_order_release);
  }
}

}  // namespace

double core_to_core_ns() {
  const std::vector<int> cores = cores_of_this_process();
  if (cores.size() < 2) return 0;
  using Clock = std::chrono::steady_clock;
  std::atomic<int> turn{2};  // nobody's turn until both threads run
  std::atomic<int> there{0};
  const auto play = [&](int mine) {
    stay_on(cores[static_cast<std::size_t>(mine)]);
    if (there.fetch_add(1) == 1) turn = 0;
    take_turns(turn, mine);
  };
  Clock::time_point begin;
  std::thread other([&] { play(1); });
  std::thread one([&] {
    begin = Clock::now();
    play(0);
  });
  one.join();
  other.join();
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  return took.count() / (2 * kTurns);
}

}  // namespace infeed::autotuning
