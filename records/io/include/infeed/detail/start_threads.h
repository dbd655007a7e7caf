#pragma once

#include <cstddef>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "infeed/error.h"

/// Starts threads where the system may give none: RLIMIT_NPROC, a container's limit of processes,
/// or no memory for a stack. A caller that wants several works with those it got; one that gets
/// none throws.
namespace infeed::detail {

/// Returns a resource_exhausted error that says what can be done.
Error no_thread(const std::system_error& error);

/// Starts one thread (or std::jthread). Throws no_thread() when the system gives none.
template <class Thread = std::thread, class Work>
Thread start_thread(Work work) try {
  return Thread(std::move(work));
} catch (const std::system_error& error) {
  throw no_thread(error);
} catch (const std::bad_alloc&) {
  throw no_thread(std::system_error(std::make_error_code(std::errc::not_enough_memory)));
}

/// Appends up to `count` threads that do `work`; fewer where the system gives no more. Throws
/// no_thread() when `threads` then has fewer than `threads_min`.
template <class Threads, class Work>
void start_threads(Threads& threads, std::size_t count, const Work& work,
                   std::size_t threads_min = 1) {
  for (std::size_t i = 0; i < count; ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error& error) {
      if (threads.size() < threads_min) throw no_thread(error);
      return;
    } catch (const std::bad_alloc&) {
      if (threads.size() < threads_min) throw;
      return;
    }
  }
}

}  // namespace infeed::detail
