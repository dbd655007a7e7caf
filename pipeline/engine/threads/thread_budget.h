#pragma once

#include <mutex>
#include <utility>

namespace infeed::detail {

/// The number of threads that an iterator's stages may still start (IterateOptions::threads_max).
///
/// A stage takes one thread when it is opened. (If none is left, it works in its consumer's
/// thread.) When it starts it takes more, at most half of the rest, so that later stages get some,
/// too. One thread is kept for the pool that runs functions until the pool is asked for.
///
/// Thread-safety: all functions may be called from any thread.
class ThreadBudget {
 public:
  /// Sets no limit if `threads_max` is 0.
  explicit ThreadBudget(int threads_max) : is_limited_(threads_max != 0), left_(threads_max) {}

  /// Takes the pool's threads: up to half of the rest, at least one. Nobody gives them back.
  int take_for_pool(int wanted);

 private:
  friend class ThreadShare;
  int take_one();
  int take_half(int wanted);
  void give_back(int count);

  const bool is_limited_;
  std::mutex mutex_;
  int left_;
  bool has_pool_ = false;
};

/// A stage's part of the budget. The destructor gives it back.
class ThreadShare {
 public:
  /// Takes one thread, or none if none is left or the stage wants none.
  explicit ThreadShare(ThreadBudget& budget, bool is_wanted = true)
      : budget_(&budget), count_(is_wanted ? budget.take_one() : 0) {}
  ~ThreadShare() { budget_->give_back(count_); }
  ThreadShare(ThreadShare&& other) noexcept
      : budget_(other.budget_), count_(std::exchange(other.count_, 0)) {}
  ThreadShare& operator=(ThreadShare&&) = delete;

  int count() const { return count_; }
  /// Asks for up to `wanted` threads in all. Returns how many the stage has.
  int grow(int wanted) { return count_ += budget_->take_half(wanted - count_); }

 private:
  ThreadBudget* budget_;
  int count_;
};

}  // namespace infeed::detail
