#include "engine/recording/held_back.h"

#include <algorithm>

namespace infeed::detail {

std::optional<HeldBack::Span> HeldBack::look(const Throttling& all, std::uint64_t now_ns) {
  const std::optional<std::uint64_t> before_ns = std::exchange(looked_at_ns_, now_ns);
  const Throttling known = std::exchange(known_, all);
  if (!before_ns || all.held_back_ns <= known.held_back_ns) return std::nullopt;
  const std::uint64_t held_ns = all.held_back_ns - known.held_back_ns;
  sum_ns_ += held_ns;
  // The kernel accounts for a core's throttling when it ends, so what is new ended since the last
  // look. Each core counts its own time. The process wasn't held back for longer than their sum, nor
  // for longer than the caller has slept, if it was held back with them.
  const std::uint64_t times = std::max<std::uint64_t>(all.times - known.times, 1);
  const std::uint64_t length_ns = std::max(std::min(held_ns, now_ns - *before_ns), held_ns / times);
  return Span{now_ns - std::min(now_ns, length_ns), now_ns};
}

}  // namespace infeed::detail
