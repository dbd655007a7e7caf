#include "engine/threads/forks.h"

#include <atomic>
#include <pthread.h>

namespace infeed::detail {
namespace {

std::atomic<std::uint64_t> forks{0};

// Counts the fork in the child, before anything else runs there.
const int kIsTold =
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint64_t forks_of_this_process() {
  static_cast<void>(kIsTold);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace infeed::detail
