#pragma once

#include <cstdint>

#include "engine/iterator_context.h"
#include "engine/tuning/knobs.h"

namespace infeed::detail {

/// The most that a queue may hold. A chunk is admitted if either bound allows it, or if the queue
/// is empty.
struct QueueLimits {
  std::uint64_t elements_max;
  std::uint64_t bytes_max;
  bool adaptive;  ///< doubles both after the queue was full and then kept the consumer waiting

  /// Returns the limits of a queue of depth `depth`.
  static QueueLimits of_depth(std::uint64_t depth, bool adaptive) {
    return {.elements_max = depth, .bytes_max = depth * kBytesPerDepth, .adaptive = adaptive};
  }
  static constexpr std::uint64_t kBytesPerDepth = 16 * 1024;
  static constexpr std::uint64_t kAdaptiveDepthMax = 4096;
};

/// The current limits of a queue. An adaptive queue doubles them where that is worth its memory.
///
/// Thread-safety: none; the queue's lock guards it.
class QueueDepth {
 public:
  QueueDepth(StageCounters& counters, const QueueLimits& limits)
      : counters_(counters), limits_(limits) {
    publish();
  }

  bool admits(std::uint64_t elements, std::uint64_t bytes) const {
    return elements <= limits_.elements_max || bytes <= limits_.bytes_max;
  }
  /// Returns how many more elements of that size either bound admits; at least 1.
  std::uint64_t room(std::uint64_t elements, std::uint64_t bytes, std::uint64_t bytes_each) const;
  bool is_half_full(std::uint64_t elements, std::uint64_t bytes) const {
    return 2 * elements >= limits_.elements_max && 2 * bytes >= limits_.bytes_max;
  }
  bool is_half_empty(std::uint64_t elements, std::uint64_t bytes) const {
    return 2 * elements <= limits_.elements_max || 2 * bytes <= limits_.bytes_max;
  }

  /// Sets the knob. The queue tells it each doubling, and how empty the queue gets.
  void set_knob(Knob& knob) { knob_ = &knob; }
  void set(std::uint64_t depth);
  void note_full() { was_full_ = true; }
  void note_level(std::uint64_t elements, std::uint64_t bytes);
  /// Called when the consumer begins to wait. Pass the result to the note_wait() that follows.
  bool take_was_full();
  void note_wait(bool was_full, std::uint64_t begin_ticks, std::uint64_t waited_ticks);

 private:
  bool is_worth_more(std::uint64_t waited_ticks);
  void double_it();
  void publish() const {
    counters_.note_queue_limits(limits_.elements_max, limits_.bytes_max, limits_.adaptive);
  }

  StageCounters& counters_;
  QueueLimits limits_;
  Knob* knob_ = nullptr;
  bool was_full_ = false;
  std::uint64_t grew_at_ticks_ = 0;  ///< also when the consumer first waited
  std::uint64_t stalled_ticks_ = 0;  ///< consumer's waits since then, after a full queue
};

}  // namespace infeed::detail
