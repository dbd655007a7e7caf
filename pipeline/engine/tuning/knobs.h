#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/tuning_policy.h>

#include "engine/stage_counters.h"

namespace infeed::detail {

/// A setting that a stage offers to the tuner.
struct KnobSpec {
  KnobKind kind = KnobKind::workers;
  KnobShape shape = KnobShape::driver;
  std::int64_t value = 0;  ///< the fixed choice, or what the user gave
  std::int64_t min = 0;
  std::int64_t max = 0;  ///< min == max: the user has fixed it
};

class Knobs;

/// A stage's knob, for as long as the stage runs. A later pass over the same stage (of a repeat)
/// begins with the value that was set in this one.
///
/// `set` is called by the tuner's thread, never while the knob is made or goes, and must not wait
/// for anything but a lock that is soon let go. Stages in inner datasets keep their fixed choice:
/// there may be thousands of them.
class Knob {
 public:
  Knob(Knobs& knobs, const StageCounters& counters, const KnobSpec& spec,
       std::function<void(std::int64_t)> set);
  ~Knob();
  Knob(const Knob&) = delete;
  Knob& operator=(const Knob&) = delete;

  /// The value that the stage begins with.
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }
  std::int64_t max() const { return std::min(bound_max_, max_.load(std::memory_order_relaxed)); }
  /// Called by a stage that found its workers waiting: up to `max` of them may be set from now on.
  /// Returns how many there are to be now: `value`, within the user's bounds.
  std::int64_t note_waits(std::int64_t value, std::int64_t max) {
    if (!is_fixed_) {
      max_.store(max, std::memory_order_relaxed);
      value_.store(std::clamp(value, std::min(bound_min_, this->max()), this->max()),
                   std::memory_order_relaxed);
    }
    waits_.store(true, std::memory_order_relaxed);
    return value_.load(std::memory_order_relaxed);
  }
  /// Called by a stage that can't have the value it was set to, in this pass or another.
  void refuse() {
    value_.store(0, std::memory_order_relaxed);
    max_.store(0, std::memory_order_relaxed);
  }
  void note_value(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void note_shape(KnobShape shape) { shape_.store(shape, std::memory_order_relaxed); }
  /// Called by the stage with its buffer's bytes. Keeps the least since the last states().
  void note_low(std::int64_t bytes) {
    if (bytes < low_.load(std::memory_order_relaxed)) {
      low_.store(bytes, std::memory_order_relaxed);
    }
  }

 private:
  friend class Knobs;

  Knobs& knobs_;
  const StageCounters& counters_;
  const KnobKind kind_;
  const std::int64_t min_;
  const bool is_fixed_;
  const std::function<void(std::int64_t)> set_;
  std::uint64_t id_ = 0;
  std::int64_t bound_min_ = 0;
  std::int64_t bound_max_ = 0;
  std::atomic<std::int64_t> value_;
  std::atomic<std::int64_t> max_;
  std::atomic<KnobShape> shape_;
  std::atomic<bool> waits_{false};
  std::atomic<std::int64_t> low_{INT64_MAX};
};

/// The knobs of an iterator's stages.
///
/// Invariants: mutex_ guards all but the atomic members of knobs, and is held while a knob is set,
/// so that none goes meanwhile. Stages take their own locks while they hold none of these.
class Knobs {
 public:
  explicit Knobs(std::vector<KnobBound> bounds) : bounds_(std::move(bounds)) {}

  /// True if there was a knob that may be changed.
  bool can_change() const { return can_change_.load(std::memory_order_relaxed); }
  /// Returns the present knobs. `index` numbers their stages; -1: the stage isn't among them.
  std::vector<KnobState> states(const std::function<int(const StageCounters&)>& index);
  /// Puts the value between the knob's bounds. The knob may be gone.
  void set(std::uint64_t id, std::int64_t value);
  const std::vector<KnobBound>& bounds() const { return bounds_; }

 private:
  friend class Knob;
  using Key = std::pair<const StageCounters*, KnobKind>;

  void add(Knob& knob);
  void remove(Knob& knob);

  const std::vector<KnobBound> bounds_;
  mutable std::mutex mutex_;
  std::list<Knob*> knobs_;
  std::atomic<bool> can_change_{false};
  /// The last value of each knob, also of stages that are gone.
  struct Known {
    std::uint64_t id;
    std::int64_t value;
    bool is_refused = false;
  };
  std::map<Key, Known> known_;
};

}  // namespace infeed::detail
