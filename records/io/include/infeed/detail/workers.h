#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/detail/start_threads.h>
#include <infeed/detail/terminal_error.h>

namespace infeed::detail {

/// Calls the function with the lock held, which it may give back while it works. An exception aborts
/// the hand-off: a thread's own function has nobody to throw it to. Holds the lock behind it.
template <class Function>
void run_or_abort(HandOff& hand_off, std::unique_lock<std::mutex>& lock, Function function) {
  try {
    function();
  } catch (...) {
    if (!lock.owns_lock()) HandOff::lock_again(lock);
    hand_off.abort_locked(terminal_error());
  }
}

/// The threads that work ahead of a consumer, for a stage or a reader. Each claims the most urgent
/// task, does it without the lock and looks again. It sleeps while there is no task. It ends when
/// the count falls, or when it has slept for long: a thread that is needed again takes 30 us to
/// start, and one that isn't needed would hold its stack and the C library's arena.
///
///     class Printers {
///      public:
///       ~Printers() { hand_off_.stop(); }
///       void print(int number) {
///         const auto lock = hand_off_.lock();
///         if (workers_.count() == 0) workers_.set_count(2);
///         numbers_.push_back(number);
///         workers_.wake_one();  // after making work
///       }
///
///      private:
///       infeed::detail::HandOff hand_off_;
///       std::deque<int> numbers_;  // guarded by hand_off_.lock()
///       infeed::detail::Workers<std::deque<int>> workers_{
///           hand_off_, {.claim = [this](auto) { return numbers_.empty() ? nullptr : &numbers_; },
///                       .has_work = [this] { return !numbers_.empty(); },
///                       .run = [](auto& lock, auto& numbers) {
///                         const int number = numbers.front();
///                         numbers.pop_front();
///                         lock.unlock();
///                         std::printf("%d\n", number);
///                         lock.lock();
///                       }}};
///     };
///
/// Workers are woken one at a time, the last to fall asleep first: its core's cache is the warmest.
/// A woken thread takes 20 to 60 us to come. Without a limit, every thread that finds work
/// meanwhile would wake another, which takes a core for nothing: with two that parse 784-byte
/// images the consumer lost 4 % of its time.
///
/// Invariants, which tests/schedules checks over all interleavings of small programs:
///  - All state is guarded by the lock of the hand-off, the owner's as well.
///  - While there is work and a worker sleeps or has ended for lack of work, one that stays is at
///    work or on its way. A thread that makes work calls wake_one(); a worker that claims some and
///    leaves more wakes the next; a worker that ends hands on the wake-up that it may have had.
///  - A worker ends only after the task that it has claimed. Its exception aborts the hand-off, and
///    so does a system that gives no thread where none is left.
template <class Task>
class Workers {
 public:
  using Lock = std::unique_lock<std::mutex>;

  /// The owner's part. All functions but begin() are called with the lock held.
  struct Work {
    std::function<void()> begin = nullptr;  ///< on each thread, before all else
    /// Takes the most urgent task for this worker (0, 1, ...); null when there is none.
    std::function<Task*(std::size_t)> claim = nullptr;
    std::function<bool()> has_work = nullptr;  ///< true if another worker's claim() may find a task
    std::function<void(Lock&, Task&)> run = nullptr;  ///< unlocks while it works
    std::chrono::milliseconds idle_max{1000};         ///< a worker that has slept for so long ends
  };

  Workers(HandOff& hand_off, Work work) : hand_off_(hand_off), work_(std::move(work)) {}
  ~Workers() { join(); }  ///< the owner has stopped the hand-off
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Waits until all threads have ended. Where several Workers share a hand-off, join all of them
  /// before any is destroyed: threads of one wake those of another.
  void join() {
    for (const auto& worker : workers_) {
      if (worker->thread.joinable()) worker->thread.join();
    }
  }

  // With the lock held:
  /// Sets the number of threads and returns how many there are: fewer where the system gives no
  /// more. Throws where it gives none at all.
  int set_count(int count) {
    count_ = static_cast<std::size_t>(count);
    start_missing();
    for (std::size_t i = count_; i < workers_.size(); ++i) wake(*workers_[i]);
    return static_cast<int>(count_);
  }
  int count() const { return static_cast<int>(count_); }
  /// Number of workers that sleep and that nobody has woken.
  int asleep() const { return static_cast<int>(asleep_.size()); }
  /// Number of threads, without those that ended for lack of work.
  int running() const { return static_cast<int>(running_); }
  /// Wakes one worker if there is work, one sleeps, and none is on its way. Starts one again if none
  /// sleeps, but some have ended for lack of work.
  void wake_one() {
    const bool some_have_ended = running_ < count_;
    if (on_their_way_ > 0 || (asleep_.empty() && !some_have_ended) || !work_.has_work()) return;
    if (asleep_.empty()) return start_again();
    Worker& warmest = *asleep_.back();
    ++on_their_way_;
    warmest.is_on_its_way = true;
    wake(warmest);
  }

 private:
  struct Worker {
    explicit Worker(HandOff& hand_off) : rest(hand_off) {}

    std::thread thread;
    WaitPoint rest;
    bool runs = false;
    bool was_idle = false;       ///< it ended for lack of work
    bool is_on_its_way = false;  ///< woken for work that another thread found
  };

  void start_missing() {
    while (workers_.size() < count_) workers_.push_back(std::make_unique<Worker>(hand_off_));
    for (std::size_t i = 0; i < count_; ++i) {
      Worker& worker = *workers_[i];
      if (worker.runs || worker.was_idle) continue;
      try {
        start(worker, i);
      } catch (const Error&) {  // the threads that started do the work
        count_ = i;
        if (i == 0) throw;
        return;
      }
    }
  }

  void start(Worker& worker, std::size_t number) {
    if (worker.thread.joinable()) worker.thread.join();  // it has nothing left to do
    // A thread that begins has no lock, and looks into no list that grows.
    worker.thread = start_thread([this, &worker, number] { work_as(worker, number); });
    worker.runs = true;
    worker.was_idle = false;
    ++running_;
  }

  /// Starts a worker that ended for lack of work. It is on its way from now on.
  void start_again() {
    if (hand_off_.stopped() || hand_off_.aborted()) return;
    for (std::size_t i = 0; i < count_; ++i) {
      Worker& worker = *workers_[i];
      if (worker.runs) continue;
      try {
        start(worker, i);
      } catch (const Error&) {
        if (running_ == 0) hand_off_.abort_locked(terminal_error());
        return;
      }
      ++on_their_way_;
      worker.is_on_its_way = true;
      return;
    }
  }

  void work_as(Worker& self, std::size_t number) {
    Failure failure;
    try {
      if (work_.begin) work_.begin();
    } catch (...) {
      failure = terminal_error();
    }
    Lock lock = hand_off_.lock();
    if (failure != nullptr) hand_off_.abort_locked(std::move(failure));
    arrive(self);
    run_or_abort(hand_off_, lock, [&] {
      while (!hand_off_.stopped() && !hand_off_.aborted() && number < count_ && !self.was_idle) {
        if (Task* const task = work_.claim(number)) {
          wake_one();
          work_.run(lock, *task);
        } else {
          self.was_idle = !sleep(lock, self);
        }
      }
    });
    self.runs = false;
    --running_;
    if (!self.was_idle) wake_one();  // an idle one has had no wake-up to hand on
  }

  /// Returns false if nobody has woken it for the longest idle time.
  bool sleep(Lock& lock, Worker& self) {
    const auto idle_until = std::chrono::steady_clock::now() + work_.idle_max;
    asleep_.push_back(&self);
    const bool in_time = self.rest.wait_once_until(lock, idle_until);
    const bool was_asleep = std::erase(asleep_, &self) != 0;
    arrive(self);
    return in_time || !was_asleep;
  }
  void arrive(Worker& self) {
    if (std::exchange(self.is_on_its_way, false)) --on_their_way_;
  }
  void wake(Worker& worker) {
    std::erase(asleep_, &worker);
    worker.rest.wake_one();
  }

  HandOff& hand_off_;
  const Work work_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< workers from count_ on end
  std::size_t count_ = 0;
  std::size_t running_ = 0;
  std::vector<Worker*> asleep_;  ///< the last one fell asleep last
  int on_their_way_ = 0;
};

}  // namespace infeed::detail
