#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {

/// Passes over `count` elements for a source's Stage::do_skip(), in parts of at most `part_max`.
/// Returns how many there were; an error counts as one element. Between two parts a watchdog sees
/// that a long resume moves, and a cancellation ends it.
///
/// pass(at_most) returns how many elements it has passed over, or nothing at the end. If it throws,
/// fail() is called in the catch block. It returns the element's error, or rethrows an exception that
/// is none.
template <class Pass, class Fail>
std::uint64_t skip_parts(IteratorContext& run, StageCounters& counters, std::uint64_t count,
                         Known known, std::uint64_t part_max, const Pass& pass, const Fail& fail) {
  std::uint64_t skipped = 0;
  while (skipped < count && !run.cancelled()) {
    try {
      const std::optional<std::uint64_t> passed = pass(std::min(part_max, count - skipped));
      if (!passed) break;
      skipped += *passed;
    } catch (...) {
      if (run.cancelled()) break;
      end_if_passing(*fail(), known);
      counters.note_skipped_error();
      ++skipped;
    }
  }
  return skipped;
}

}  // namespace infeed::detail
