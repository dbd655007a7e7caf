#pragma once

#include <algorithm>
#include <cstdint>

#include <infeed/pipeline/detail/elementwise.h>

#include "engine/recording/one_by_one.h"
#include "engine/recording/recording_clock.h"
#include "engine/threads/clock.h"
#include "engine/threads/thread_budget.h"

namespace infeed::detail {

/// Chooses how many elements a kernel processes between two looks at the clock: 1, 2, 4 ... 64
/// while they are cheap (a look is 10 ns, so 0.15 ns an element). It goes back to 1 when a block
/// took long: a slow function must not hold back finished elements.
class BlockPacer {
 public:
  /// Makes elements come one by one after a block that took `slow_ticks`, or more than 2 us an
  /// element, so that the position of a slow element is known.
  void tell_apart(std::uint64_t slow_ticks) {
    slow_ticks_ = slow_ticks;
    block_ticks_max_ = std::min(block_ticks_max_, slow_ticks);
    element_ticks_max_ = ticks_of_us(kWorthTellingUs);
  }
  void start() { begin_ = block_begin_ = ticks_now(); }
  std::size_t block() const { return block_; }
  /// Returns the last block that done() ended, with the time since the block before; null if
  /// elements need not come one by one.
  const OwnTime* long_block() const { return block_ == 1 ? &long_block_ : nullptr; }
  /// Ends a block. Returns true when it is time to hand over.
  bool done() {
    const std::uint64_t now = ticks_now();
    const std::uint64_t ticks = now - block_begin_;
    if (slow_ticks_ != 0) one_by_one_.note(ticks, block_, ticks >= slow_ticks_);
    if (ticks >= std::min(block_ticks_max_, block_ * element_ticks_max_) || one_by_one_.is_due()) {
      block_ = 1;
      long_block_ = {block_begin_, ticks};
    } else if (block_ < kBlockMax) {
      block_ *= 2;
    }
    block_begin_ = now;
    return now - begin_ > hand_over_ticks_;
  }

 private:
  static constexpr std::size_t kBlockMax = 64;
  static constexpr double kWorthTellingUs = 2;
  const std::uint64_t hand_over_ticks_ = hand_over_ticks();
  std::uint64_t block_ticks_max_ = hand_over_ticks_ / 2;
  std::uint64_t element_ticks_max_ = UINT32_MAX;
  std::uint64_t slow_ticks_ = 0;  ///< 0: elements need not be told apart
  OneByOne one_by_one_;
  std::uint64_t begin_ = 0;
  std::uint64_t block_begin_ = 0;
  OwnTime long_block_;
  std::size_t block_ = 1;
};

/// Makes the parallel running form. The caller opens `input`.
std::unique_ptr<Stage> make_parallel_elementwise(const StageContext& context,
                                                 std::shared_ptr<const ElementwiseSpec> spec,
                                                 std::unique_ptr<Stage> input, ThreadShare driver);

}  // namespace infeed::detail
