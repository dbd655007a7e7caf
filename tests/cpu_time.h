#pragma once

#include <chrono>
#include <time.h>

namespace infeed::test {

/// Returns the time that all threads of this process have had on cores. Other load makes it hardly longer, and it
/// stands still while the process is stopped.
inline std::chrono::nanoseconds process_cpu_time() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
}

}  // namespace infeed::test
