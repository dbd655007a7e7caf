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
  /// Behind a block that took so long, or more than 2 us an element, they come one by one: a slow one
  /// is known by its position.
  void tell_apart(std::uint64_t slow_ticks) {
    block_ticks_max_ = std::min(block_ticks_max_, slow_ticks);
    element_ticks_max_ = ticks_of_us(kWorthTellingUs);
  }
  void start() { begin_ = block_begin_ = ticks_now(); }
  std::size_t block() const { return block_; }
  /// The block that done() ended last, with what came between it and the one before; null where
  /// elements need not come one by one for it.
  const OwnTime* long_block() const { return block_ == 1 ? &long_block_ : nullptr; }
  /// A block is done; true when it is time to hand over.
  bool done() {
    const std::uint64_t now = ticks_now();
    if (now - block_begin_ >= std::min(block_ticks_max_, block_ * element_ticks_max_)) {
      block_ = 1;
      long_block_ = {block_begin_, now - block_begin_};
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
  std::uint64_t begin_ = 0;
  std::uint64_t block_begin_ = 0;
  OwnTime long_block_;
  std::size_t block_ = 1;
};

/// The running form with threads; `input` is opened by the caller.
std::unique_ptr<Stage> make_parallel_elementwise(const StageContext& context,
                                                 std::shared_ptr<const ElementwiseSpec> spec,
                                                 std::unique_ptr<Stage> input, ThreadShare driver);

}  // namespace infeed::detail
