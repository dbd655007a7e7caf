#pragma once

#include <mutex>
#include <utility>

namespace infeed::detail {

/// How many threads an iterator's stages may still start (IterateOptions::threads_max).
///
/// A stage takes one where it is opened (none left: it works in its consumer's thread) and grows
/// when it starts, by at most half of what is left then, so that none starves those behind it. One
/// is kept for the pool that runs functions, as long as nobody has asked for that.
///
/// Thread-safety: all functions may be called from any thread.
class ThreadBudget {
 public:
  /// No limit where `threads_max` is 0.
  explicit ThreadBudget(int threads_max) : is_limited_(threads_max != 0), left_(threads_max) {}

  /// The threads of the pool, which nobody gives back: up to half of what is left, at least one.
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

/// What a stage has of the budget; it goes back with this object.
class ThreadShare {
 public:
  /// One thread, or none where there is none or the stage wants none.
  explicit ThreadShare(ThreadBudget& budget, bool is_wanted = true)
      : budget_(&budget), count_(is_wanted ? budget.take_one() : 0) {}
  ~ThreadShare() { budget_->give_back(count_); }
  ThreadShare(ThreadShare&& other) noexcept
      : budget_(other.budget_), count_(std::exchange(other.count_, 0)) {}
  ThreadShare& operator=(ThreadShare&&) = delete;

  int count() const { return count_; }
  /// Asks for up to that many in all, and returns how many it has.
  int grow(int wanted) { return count_ += budget_->take_half(wanted - count_); }

 private:
  ThreadBudget* budget_;
  int count_;
};

}  // namespace infeed::detail
