#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <infeed/error.h>

/// Why: a RAM budget that leaves out the shuffle buffer is no budget. One account per iterator;
/// every stage that keeps elements reserves before it holds them.
///
/// Two kinds of memory share the limit. Required memory (of shuffle, cache, batch, window) is what
/// a stage's meaning demands: the stage fails where it can't have it. Best-effort memory (of queues,
/// jobs in flight and the consumer's elements) is for what is kept ready: a stage begins to make
/// more of it only while there is room, or while somebody waits for just that. A quarter of the
/// limit is kept for it.
///
/// Nobody knows how large a result will be, so what has come is held even where it doesn't fit
/// (hold_best_effort), and the next calls wait until there is room again. So the account may exceed
/// its limit by one result for each call that is under way.
///
/// Thread-safety: all functions may be called from any thread.
namespace infeed {

class MemoryAccount {
 public:
  /// With a `limit_bytes` of 0 it counts, but never refuses.
  explicit MemoryAccount(std::uint64_t limit_bytes);

  std::uint64_t limit_bytes() const { return limit_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t in_use_bytes() const { return in_use_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t best_effort_bytes() const {  ///< of those in use
    return best_effort_bytes_.load(std::memory_order_relaxed);
  }
  std::uint64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }
  /// How often best effort didn't fit.
  std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

  /// Best effort: true when the bytes are reserved, false when they don't fit now.
  bool try_reserve_best_effort(std::uint64_t bytes);
  /// Counts what is there already, whether it fits or not.
  void hold_best_effort(std::uint64_t bytes);
  void release_best_effort(std::uint64_t bytes);

  /// Required: reserves, or throws Error(resource_exhausted) that says who asked for what.
  void reserve_required(std::uint64_t bytes, std::string_view stage);
  void release_required(std::uint64_t bytes);

  /// Another limit from now on. Best-effort memory beyond it goes as it is used up. Throws
  /// Error(resource_exhausted) where the required memory that is held has no room in it.
  void set_limit(std::uint64_t limit_bytes);
  /// The most that best-effort memory may hold, whatever the limit; UINT64_MAX: no such bound.
  void bound_best_effort(std::uint64_t bytes) {
    best_effort_bound_bytes_.store(bytes, std::memory_order_relaxed);
  }

  /// What each kind may hold at most.
  std::uint64_t best_effort_limit_bytes() const;
  std::uint64_t required_limit_bytes() const;
  /// The least limit that leaves so much for required memory.
  static std::uint64_t limit_for(std::uint64_t required_bytes);

 private:
  bool try_add(std::atomic<std::uint64_t>& held, std::uint64_t bytes, std::uint64_t limit);
  void take_off(std::atomic<std::uint64_t>& held, std::uint64_t bytes);
  void note_in_use(std::uint64_t more_bytes);

  std::atomic<std::uint64_t> limit_bytes_;
  std::atomic<std::uint64_t> best_effort_bound_bytes_{UINT64_MAX};
  std::atomic<std::uint64_t> best_effort_bytes_{0};
  std::atomic<std::uint64_t> required_bytes_{0};
  std::atomic<std::uint64_t> in_use_bytes_{0};
  std::atomic<std::uint64_t> peak_bytes_{0};
  std::atomic<std::uint64_t> refusals_{0};
};

}  // namespace infeed
