#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include <infeed/pipeline/tuning.h>
#include <infeed/pipeline/tuning_policy.h>

#include "engine/threads/periodic_thread.h"
#include "engine/tuning/observer.h"

namespace infeed::detail {

/// Lets a policy look at an iterator now and then, sets what it decides, and keeps its log.
///
/// Invariants: policy_ and observer_ belong to the thread; report_ is guarded by mutex_.
class TunerThread {
 public:
  /// `taken`: elements that the consumer took.
  TunerThread(IteratorContext& run, const TunerOptions& options,
              const std::atomic<std::uint64_t>& taken);

  /// Leaves all settings as they are from now on.
  void freeze() { is_frozen_ = true; }
  /// Returns the report so far. Any thread may call it.
  TuningReport report() const;
  /// Stops looking. The report stays.
  void stop() { thread_.reset(); }

 private:
  void look();
  void give_memory_back(const TuningDecision& decision);
  void take_down(TuningDecision decision);

  IteratorContext& run_;
  const bool only_advises_;
  const std::shared_ptr<TuningPolicy> policy_;
  TuningObserver observer_;
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
