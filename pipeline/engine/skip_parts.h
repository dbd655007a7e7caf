#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"

namespace infeed::detail {

/// What a source does for Stage::do_skip: passes over `count` elements, an error being one of them.
/// pass(at most) says how many elements it has passed over, or nothing at the end; no more than
/// `part_max` at once, since a watchdog looks between two whether a long resume moves, and a
/// cancellation ends it there. What it throws goes to fail(), in a catch block, which throws on what
/// is no element's error.
template <class Pass, class Fail>
std::uint64_t skip_parts(IteratorContext& run, StageCounters& counters, std::uint64_t count,
                         std::uint64_t part_max, const Pass& pass, const Fail& fail) {
  std::uint64_t skipped = 0;
  while (skipped < count && !run.cancelled()) {
    try {
      const std::optional<std::uint64_t> passed = pass(std::min(part_max, count - skipped));
      if (!passed) break;
      skipped += *passed;
    } catch (...) {
      if (run.cancelled()) break;
      fail();
      counters.note_skipped_error();
      ++skipped;
    }
  }
  return skipped;
}

}  // namespace infeed::detail
