#pragma once

#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>

#include "infeed/error.h"

/// Threads where the system may give none: RLIMIT_NPROC, a container's limit of processes, or no memory
/// for a stack. Who wants several works with those that came; who gets none says so.
namespace infeed::detail {

/// resource_exhausted, with what may be done about it.
Error no_thread(const std::system_error& error);

/// One thread (or std::jthread), or that Error.
template <class Thread = std::thread, class Work>
Thread start_thread(Work work) try {
  return Thread(std::move(work));
} catch (const std::system_error& error) {
  throw no_thread(error);
}

/// Puts up to `count` that do `work` behind those in `threads`; fewer where the system gives no more.
/// Throws that Error when there are `threads_min` afterwards neither.
template <class Threads, class Work>
void start_threads(Threads& threads, std::size_t count, const Work& work,
                   std::size_t threads_min = 1) {
  for (std::size_t i = 0; i < count; ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error& error) {
      if (threads.size() < threads_min) throw no_thread(error);
      return;
    }
  }
}

}  // namespace infeed::detail
