#pragma once

#include <algorithm>
#include <cstdint>

#include <infeed/pipeline/detail/elementwise.h>

#include "engine/recording/watched_thread.h"
#include "engine/threads/clock.h"
#include "engine/threads/thread_budget.h"

namespace infeed::detail {

/// Chooses how many elements a kernel goes through between two looks at the clock: 1, 2, 4 ... 64
/// while they are cheap (a look is 10 ns, so 0.15 ns an element), back to 1 when a block took long:
/// a slow function must not hold back what is done.
class BlockPacer {
 public:
  /// Elements that take longer come one by one, so that a slow one is known by its position.
  void tell_apart() { element_ticks_max_ = ticks_of_us(kWorthTellingUs); }
  void start() { begin_ = block_begin_ = ticks_now(); }
  std::size_t block() const { return block_; }
  /// That done() ended last, and what came between it and the one before.
  OwnTime last_block() const { return last_; }
  /// A block is done; true when it is time to hand over.
  bool done() {
    const std::uint64_t now = ticks_now();
    if (now - block_begin_ > std::min(hand_over_ticks_ / 2, block_ * element_ticks_max_)) {
      block_ = 1;
    } else if (block_ < kBlockMax) {
      block_ *= 2;
    }
    last_ = {block_begin_, now - block_begin_};
    block_begin_ = now;
    return now - begin_ > hand_over_ticks_;
  }

 private:
  static constexpr std::size_t kBlockMax = 64;
  static constexpr double kWorthTellingUs = 2;
  const std::uint64_t hand_over_ticks_ = hand_over_ticks();
  std::uint64_t element_ticks_max_ = UINT32_MAX;
  std::uint64_t begin_ = 0;
  std::uint64_t block_begin_ = 0;
  OwnTime last_;
  std::size_t block_ = 1;
};

/// The running form with threads; `input` is opened by the caller.
std::unique_ptr<Stage> make_parallel_elementwise(const StageContext& context,
                                                 std::shared_ptr<const ElementwiseSpec> spec,
                                                 const TypeInfo& in_type,
                                                 std::unique_ptr<Stage> input, ThreadShare driver);

}  // namespace infeed::detail
