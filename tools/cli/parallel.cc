#include "cli/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <thread>
#include <vector>

#include <infeed/detail/start_threads.h>
#include <infeed/error.h>
#include <infeed/pipeline/executor.h>

namespace infeed::tools {

void for_each_in_parallel(std::size_t count, int threads, const std::stop_token& stop,
                          const Work& work,
                          const std::function<void(std::size_t done)>& on_progress) {
  for_each_in_parallel_threads(
      count, threads, stop, [&work] { return work; }, on_progress);
}

void for_each_in_parallel_threads(std::size_t count, int threads, const std::stop_token& stop,
                                  const std::function<Work()>& begin,
                                  const std::function<void(std::size_t done)>& on_progress) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t ended = 0;
  std::exception_ptr error;
  const auto loop = [&] {
    try {
      const Work work = begin();
      for (std::size_t i = next++; i < count && !stop.stop_requested(); i = next++) {
        work(i);
        ++done;
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (error == nullptr) error = std::current_exception();
      next = count;
    }
    const std::lock_guard lock(mutex);
    ++ended;
    changed.notify_all();
  };
  const auto cores = static_cast<std::size_t>(threads > 0 ? threads : usable_cores());
  std::vector<std::jthread> running;
  infeed::detail::start_threads(running, std::min(cores, count), loop);
  {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(100),
                             [&] { return ended == running.size(); })) {
      if (on_progress) on_progress(done);
    }
  }
  running.clear();  // joins
  if (error != nullptr) std::rethrow_exception(error);
  if (done < count) {
    throw Error(ErrorCode::cancelled,
                fmt::format("stopped after {} of {} files", done.load(), count));
  }
}

}  // namespace infeed::tools
