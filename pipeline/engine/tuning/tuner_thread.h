#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include <infeed/pipeline/tuning.h>
#include <infeed/pipeline/tuning_policy.h>

#include "engine/threads/periodic_thread.h"
#include "engine/tuning/observer.h"

namespace infeed::detail {

/// Lets a policy look at an iterator now and then, sets what it decides, and keeps its log. The
/// thread ends when the consumer has asked for nothing for a while: programs keep hundreds of
/// iterators of which few are read.
///
/// Invariants: policy_ and observer_ belong to the thread; report_ is guarded by mutex_. The
/// consumer's thread makes, wakes and stops it.
class TunerThread {
 public:
  /// `taken`: elements that the consumer took.
  TunerThread(IteratorContext& run, const TunerOptions& options,
              const std::atomic<std::uint64_t>& taken);

  /// Leaves all settings as they are from now on.
  void freeze() { is_frozen_ = true; }
  /// Returns the report so far. Any thread may call it.
  TuningReport report() const;
  /// True once the thread has ended for want of a consumer.
  bool rests() const { return rests_.load(std::memory_order_relaxed); }
  /// Starts the thread again.
  void wake();
  /// Stops looking. The report stays.
  void stop() { thread_.reset(); }

 private:
  void start();
  bool step();
  bool consumer_is_away();
  void look();
  void give_memory_back(const TuningDecision& decision);
  void take_down(TuningDecision decision);

  IteratorContext& run_;
  const std::chrono::milliseconds look_every_;
  const bool only_advises_;
  const std::shared_ptr<TuningPolicy> policy_;
  TuningObserver observer_;
  const std::atomic<std::uint64_t>& taken_;
  std::uint64_t consumed_ = 0;       ///< elements taken and ticks waited, by the consumer
  std::uint64_t away_since_ns_ = 0;  ///< when consumed_ last changed
  std::atomic<bool> rests_{false};
  int skipped_looks_ = 0;
  bool is_settled_ = false;
  bool is_giving_back_ = false;  ///< buffers shrink to bytes_to_hold_
  std::uint64_t bytes_to_hold_ = 0;
  std::atomic<bool> is_frozen_{false};
  mutable std::mutex mutex_;
  TuningReport report_;
  std::unique_ptr<PeriodicThread> thread_;  // last: it uses the others
};

}  // namespace infeed::detail
