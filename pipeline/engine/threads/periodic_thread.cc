#include "engine/threads/periodic_thread.h"

#include <algorithm>
#include <new>

#include <infeed/detail/start_threads.h>

namespace infeed::detail {

PeriodicThread::PeriodicThread(std::function<void()> begin, std::chrono::milliseconds pause,
                               std::function<bool()> step)
    : begin_(std::move(begin)),
      pause_(std::clamp(pause, std::chrono::milliseconds(1), kLongestWait)),
      step_(std::move(step)),
      thread_(start_thread([this] { run(); })) {}

PeriodicThread::~PeriodicThread() {
  hand_off_.stop();
  thread_.join();
}

void PeriodicThread::run() {
  begin_();
  auto next = std::chrono::steady_clock::now() + pause_;
  auto lock = hand_off_.lock();
  while (!hand_off_.stopped()) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next) {
      end_.wait_once_for(lock, next - now);
      continue;
    }
    lock.unlock();
    try {
      if (!step_()) return;
    } catch (const std::bad_alloc&) {  // the run, which this thread only looks at, has the error
    }
    lock.lock();
    next = std::chrono::steady_clock::now() + pause_;
  }
}

}  // namespace infeed::detail
