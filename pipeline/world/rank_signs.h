#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace infeed::detail {

/// The signs of life that this rank has of the others, and what it tells them of itself.
///
/// A rank that waits asks those it waits for, and a thread of theirs answers, however busy they are.
/// So nothing is sent while all is well, and only a stopped or dead process is silent.
///
/// Thread-safety: any threads.
class RankSigns {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RankSigns(int size) : ranks_(static_cast<std::size_t>(size)) {}

  /// The text that answers a question: "waits in 'step 12'".
  std::string own_state() const {
    const std::lock_guard lock(mutex_);
    return own_state_;
  }
  void set_own_state(std::string state) {
    const std::lock_guard lock(mutex_);
    own_state_ = std::move(state);
  }

  struct Seen {
    Clock::time_point at = {};     ///< when the last sign came; the epoch if none did
    Clock::time_point asked = {};  ///< when it was asked last
    std::string state = {};        ///< its last answer
    Clock::time_point watched = {};
    Clock::time_point watched_since = {};
  };
  Seen seen(int rank) const {
    const std::lock_guard lock(mutex_);
    return ranks_[static_cast<std::size_t>(rank)];
  }
  void note_sign(int rank) {
    const std::lock_guard lock(mutex_);
    ranks_[static_cast<std::size_t>(rank)].at = Clock::now();
  }
  void note_answer(int rank, std::string state) {
    const std::lock_guard lock(mutex_);
    Seen& seen = ranks_[static_cast<std::size_t>(rank)];
    seen.at = Clock::now();
    seen.state = std::move(state);
  }
  void note_asked(int rank) {
    const std::lock_guard lock(mutex_);
    ranks_[static_cast<std::size_t>(rank)].asked = Clock::now();
  }
  /// Notes that a service looks after the rank. Returns since when it has done so without such a gap.
  Clock::time_point watched_since(int rank, std::chrono::nanoseconds gap_max) {
    const std::lock_guard lock(mutex_);
    Seen& seen = ranks_[static_cast<std::size_t>(rank)];
    const Clock::time_point now = Clock::now();
    if (now - std::exchange(seen.watched, now) > gap_max) seen.watched_since = now;
    return seen.watched_since;
  }

  struct Failure {
    int rank = -1;  ///< the rank that failed; -1: unknown
    std::string text = {};
  };
  /// Returns the first failure that this rank has found or was told of.
  std::optional<Failure> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  /// Returns true if it is the first one.
  bool note_failure(Failure failure) {
    const std::lock_guard lock(mutex_);
    if (failure_) return false;
    failure_ = std::move(failure);
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::string own_state_ = "has not made its first call";
  std::vector<Seen> ranks_;
  std::optional<Failure> failure_;
};

}  // namespace infeed::detail
