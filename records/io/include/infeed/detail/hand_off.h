#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <infeed/error.h>

/// Why: everything that hands things over between threads (a queue, a set of jobs, readers that
/// work ahead) ends in the same three ways, and each end must reach everybody who waits. A HandOff
/// is the part that they share: the mutex, the end, and the places where threads wait.
///
///     class Numbers {  // a bounded queue
///      public:
///       bool push(int number) {  // false: nobody wants it any more
///         auto lock = hand_off_.lock();
///         if (!room_.wait(lock, [this] { return numbers_.size() < 8; })) return false;
///         numbers_.push_back(number);
///         filled_.wake_one();
///         return true;
///       }
///       std::optional<int> pop() {  // none: the end; throws what finish() or abort() was given
///         auto lock = hand_off_.lock();
///         const auto ready = [this] { return !numbers_.empty() || hand_off_.finished(); };
///         if (!filled_.wait(lock, ready)) return std::nullopt;
///         if (numbers_.empty()) {
///           hand_off_.throw_failure();
///           return std::nullopt;
///         }
///         const int number = numbers_.front();
///         numbers_.pop_front();
///         room_.wake_one();
///         return number;
///       }
///       void finish() { hand_off_.finish(); }
///       void stop() { hand_off_.stop(); }
///
///      private:
///       infeed::detail::HandOff hand_off_;
///       infeed::detail::WaitPoint filled_{hand_off_}, room_{hand_off_};
///       std::deque<int> numbers_;  // guarded by hand_off_.lock()
///     };
namespace infeed::detail {

class WaitPoint;

/// An error shared by the threads that throw it. Each throws its own copy.
using Failure = std::shared_ptr<const Error>;

/// The three ends. finish(): nothing more comes; its failure is thrown behind all that came before.
/// abort(): something is broken; every wait throws the error from now on, even if items are left.
/// stop(): nobody wants anything any more; every wait returns false. The first abort counts. A stop
/// outranks the others and is final.
///
/// Invariants: all state, the owner's as well, is guarded by the mutex that lock() takes. Wait
/// points are made before the first thread starts and go after the last has ended.
class HandOff {
 public:
  HandOff() = default;
  HandOff(const HandOff&) = delete;
  HandOff& operator=(const HandOff&) = delete;

  std::unique_lock<std::mutex> lock() const {
    std::unique_lock lock(mutex_, std::defer_lock);
    lock_again(lock);
    return lock;
  }
  /// Tries for a few microseconds before it sleeps. A holder mostly lets go within a microsecond,
  /// or within five when it wakes somebody; sleeping takes twenty. A pause takes 20 to 60 ns,
  /// depending on the processor.
  static void lock_again(std::unique_lock<std::mutex>& lock) {
    constexpr int kTries = 200;
    for (int i = 0; i < kTries; ++i) {
      if (lock.try_lock()) return;
      pause();
    }
    lock.lock();
  }
  /// Pauses between two looks at something that another thread is about to change.
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  void finish(Failure failure = nullptr) {
    const std::lock_guard lock(mutex_);
    finish_locked(std::move(failure));
  }
  void abort(Failure error) {
    const std::lock_guard lock(mutex_);
    abort_locked(std::move(error));
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stop_locked();
  }
  // The same three ends for callers that hold the lock.
  void finish_locked(Failure failure = nullptr);
  void abort_locked(Failure error);
  void stop_locked();

  // With the lock held:
  bool finished() const { return finished_; }
  bool stopped() const { return stopped_; }
  bool aborted() const { return error_ != nullptr; }
  /// True if nobody need wait for more.
  bool over() const { return finished_ || stopped_ || aborted(); }
  /// False when it was stopped. Throws the error of abort(), if any.
  bool goes_on() const {
    if (!stopped_ && error_ != nullptr) throw Error(*error_);
    return !stopped_;
  }
  /// Throws the failure given to finish(), if any. Called behind the last item.
  void throw_failure() const {
    if (failure_ != nullptr) throw Error(*failure_);
  }

 private:
  friend class WaitPoint;
  void wake_all();

  mutable std::mutex mutex_;
  std::vector<WaitPoint*> points_;
  bool finished_ = false;
  bool stopped_ = false;
  Failure failure_;
  Failure error_;
};

/// A place where threads wait for one kind of change.
class WaitPoint {
 public:
  explicit WaitPoint(HandOff& hand_off) : hand_off_(hand_off) { hand_off.points_.push_back(this); }
  WaitPoint(const WaitPoint&) = delete;
  WaitPoint& operator=(const WaitPoint&) = delete;

  /// Waits until `ready()`. Returns false after a stop and throws after an abort, as
  /// HandOff::goes_on().
  template <class Ready>
  bool wait(std::unique_lock<std::mutex>& lock, Ready ready) {
    while (hand_off_.goes_on()) {
      if (ready()) return true;
      wait_once(lock);
    }
    return false;
  }
  /// Waits until somebody wakes it, or for no reason at all.
  void wait_once(std::unique_lock<std::mutex>& lock) {
    ++waiting_;
    changed_.wait(lock);
    --waiting_;
  }
  template <class Time>
  void wait_once_for(std::unique_lock<std::mutex>& lock, Time time) {
    ++waiting_;
    changed_.wait_for(lock, time);
    --waiting_;
  }
  /// Returns false when the time came first.
  template <class TimePoint>
  bool wait_once_until(std::unique_lock<std::mutex>& lock, TimePoint deadline) {
    ++waiting_;
    const std::cv_status status = changed_.wait_until(lock, deadline);
    --waiting_;
    return status == std::cv_status::no_timeout;
  }

  /// Number of threads that wait here. Called with the lock held.
  int waiting() const { return waiting_; }
  void wake_one() { changed_.notify_one(); }
  void wake_all() { changed_.notify_all(); }

 private:
  HandOff& hand_off_;
  std::condition_variable changed_;
  int waiting_ = 0;
};

inline void HandOff::wake_all() {
  for (WaitPoint* const point : points_) point->wake_all();
}
inline void HandOff::finish_locked(Failure failure) {
  finished_ = true;
  failure_ = std::move(failure);
  wake_all();
}
inline void HandOff::abort_locked(Failure error) {
  if (error_ == nullptr) error_ = std::move(error);
  wake_all();
}
inline void HandOff::stop_locked() {
  stopped_ = true;
  wake_all();
}

}  // namespace infeed::detail
