#pragma once

#include <cstdint>

#include "engine/iterator_context.h"
#include "engine/tuning/knobs.h"

namespace infeed::detail {

/// How much a queue may hold. A chunk is admitted when either bound allows it, or the queue is empty.
struct QueueLimits {
  std::uint64_t elements_max;
  std::uint64_t bytes_max;
  bool adaptive;  ///< doubles both after the queue was full and then kept the consumer waiting

  /// Returns the limits of a queue of that depth.
  static QueueLimits of_depth(std::uint64_t depth, bool adaptive) {
    return {.elements_max = depth, .bytes_max = depth * kBytesPerDepth, .adaptive = adaptive};
  }
  static constexpr std::uint64_t kBytesPerDepth = 16 * 1024;
  static constexpr std::uint64_t kAdaptiveDepthMax = 4096;
};

/// The limits of a queue as it runs: an adaptive one doubles them where that is worth its memory.
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
  /// Returns how many more elements of that size either bound lets in beside what there is; at least 1.
  std::uint64_t room(std::uint64_t elements, std::uint64_t bytes, std::uint64_t bytes_each) const;
  bool is_half_full(std::uint64_t elements, std::uint64_t bytes) const {
    return 2 * elements >= limits_.elements_max && 2 * bytes >= limits_.bytes_max;
  }
  bool is_half_empty(std::uint64_t elements, std::uint64_t bytes) const {
    return 2 * elements <= limits_.elements_max || 2 * bytes <= limits_.bytes_max;
  }

  /// The knob is told what the queue doubles itself, and how empty it gets.
  void set_knob(Knob& knob) { knob_ = &knob; }
  void set(std::uint64_t depth);
  void note_full() { was_full_ = true; }
  void note_level(std::uint64_t elements, std::uint64_t bytes);
  /// The consumer begins to wait; note_wait() behind it is told what this returned.
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
  std::uint64_t grew_at_ticks_ = 0;  ///< or the consumer waited for the first time
  std::uint64_t stalled_ticks_ = 0;  ///< so long it waited since then for what had been full
};

}  // namespace infeed::detail
