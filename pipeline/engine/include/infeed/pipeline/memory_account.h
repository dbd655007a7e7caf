#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string_view>

#include <infeed/error.h>

/// Why: a RAM limit that leaves out the shuffle buffer is no limit. Each iterator has one account,
/// and every stage that keeps elements reserves memory before it holds them.
///
/// Two kinds of memory share the limit. Required memory (shuffle, cache, batch, window) is memory
/// that a stage can't work without: the stage fails if it is refused. Best-effort memory (queues,
/// running jobs, the consumer's elements) is for elements that are kept ready. A stage begins to
/// make more of them only while there is room, or while somebody waits for just that element. A
/// quarter of the limit is kept for best effort. What fills an optional cache counts as required,
/// but its stage gives it up (MemoryOffer) before another stage is refused.
///
/// Nobody knows how large a result will be. So a result that has come is held even if it doesn't
/// fit (hold_best_effort), and the next calls wait until there is room again. The account may
/// therefore exceed its limit by one result for each running call.
///
/// Thread-safety: all functions may be called from any thread.
namespace infeed {

class MemoryOffer;

class MemoryAccount {
 public:
  /// Makes an account. With a `limit_bytes` of 0 it counts, but never refuses.
  explicit MemoryAccount(std::uint64_t limit_bytes);

  std::uint64_t limit_bytes() const { return limit_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t in_use_bytes() const { return in_use_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t best_effort_bytes() const {  ///< part of in_use_bytes
    return best_effort_bytes_.load(std::memory_order_relaxed);
  }
  std::uint64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }
  /// Returns how often best-effort memory was refused.
  std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

  /// Reserves best-effort memory. Returns false if the bytes don't fit now.
  bool try_reserve_best_effort(std::uint64_t bytes);
  /// Counts memory that is already held, whether it fits or not.
  void hold_best_effort(std::uint64_t bytes);
  void release_best_effort(std::uint64_t bytes);

  /// Reserves required memory, if need be by what others give up, or throws
  /// Error(resource_exhausted) that says which stage asked for how much.
  void reserve_required(std::uint64_t bytes, std::string_view stage);
  /// Does the same for memory that `stage` could do without, for which nobody gives up theirs.
  void reserve_dispensable(std::uint64_t bytes, std::string_view stage);
  void release_required(std::uint64_t bytes);

  /// Changes the limit. Best-effort memory beyond it goes as it is used up. Throws
  /// Error(resource_exhausted) if the required memory that is held doesn't fit.
  void set_limit(std::uint64_t limit_bytes);
  /// Sets the most that best-effort memory may hold, whatever the limit; UINT64_MAX: no such bound.
  /// Whoever raises it wakes those that found no room, as after set_limit().
  void bound_best_effort(std::uint64_t bytes) {
    best_effort_bound_bytes_.store(bytes, std::memory_order_relaxed);
  }

  /// The most bytes that each kind may hold.
  std::uint64_t best_effort_limit_bytes() const;
  std::uint64_t required_limit_bytes() const;
  /// Returns the smallest limit that leaves `required_bytes` for required memory.
  static std::uint64_t limit_for(std::uint64_t required_bytes);

 private:
  friend class MemoryOffer;

  bool try_reserve_required(std::uint64_t bytes);
  /// Calls one offer after the other until `has_enough` returns true, which is asked first, or a
  /// round of all has freed nothing.
  bool ask_for_room(const std::function<bool()>& has_enough);
  Error refusal(std::uint64_t bytes, std::string_view stage) const;
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
  std::mutex offers_mutex_;  ///< held while an offer is called, so that its stage stays
  std::list<MemoryOffer*> offers_;
};

/// An offer to give up memory that a stage can do without, as long as this object lives.
///
///     infeed::MemoryAccount account(1 << 20);  // in a stage: memory()
///     infeed::Reservation kept(account, "kept", infeed::Reservation::Kind::dispensable);
///     const infeed::MemoryOffer offer(account, [&] { kept.shrink(kept.bytes()); });
///
/// Any thread may call it, again and again, while a stage reserves memory: so it waits for no lock
/// under which a stage reserves required memory or begins an offer. The destructor waits for a call
/// under way.
class MemoryOffer {
 public:
  MemoryOffer(MemoryAccount& account, std::function<void()> give_up);
  ~MemoryOffer();
  MemoryOffer(const MemoryOffer&) = delete;
  MemoryOffer& operator=(const MemoryOffer&) = delete;

 private:
  friend class MemoryAccount;

  MemoryAccount& account_;
  const std::function<void()> give_up_;
};

}  // namespace infeed
