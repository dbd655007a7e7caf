#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace infeed::test {

/// Returns the cores that this process may use; empty if the system doesn't tell.
inline std::vector<int> allowed_cores() {
  std::vector<int> cores;
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
#endif
  return cores;
}

/// Returns two cores that this process may use: the same one twice if it has only one.
inline std::vector<int> two_cores() {
  const std::vector<int> cores = allowed_cores();
  return cores.empty() ? std::vector<int>{0, 0} : std::vector<int>{cores.front(), cores.back()};
}

/// Returns the items for the first core, when two_cores()[0] and then two_cores()[1] gave items
/// back.
template <class T>
std::vector<T> as_core_0_gets(std::vector<T> given_back) {
  const std::vector<int> cores = two_cores();
  if (cores[0] == cores[1])
    std::reverse(given_back.begin(), given_back.end());  // the warmest first
  return given_back;
}

/// Runs `function` in a thread that stays on this core.
template <class Function>
void on_core([[maybe_unused]] int core, Function function) {
  std::thread([&] {
#if defined(__linux__)
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(core), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
#endif
    function();
  }).join();
}

}  // namespace infeed::test
