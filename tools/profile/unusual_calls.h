#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/interval.h"
#include "profile/recorded_run.h"

/// Why: a call that takes the usual time of its stage's calls holds nobody up by itself. A call
/// that took twice as long may have. The usual time is the median of all calls, not only of the
/// slow ones, which alone are kept one by one.
namespace infeed::tools {

class UnusualCalls {
 public:
  /// The run must outlive it.
  explicit UnusualCalls(const RecordedRun& run);

  bool is_unusual(const SlowCall& call) const;
  /// Returns the index of a slow call: all calls before it ended at `ns` or earlier.
  std::size_t first_that_may_end_after(std::uint64_t ns) const;
  /// By stage: of those that ended in `counted`, what doesn't lie in `wait`. Looking at a call
  /// takes one of `looks`, and ends when there are none.
  std::vector<std::uint64_t> outside_ns(const Interval& counted, const Interval& wait,
                                        std::uint64_t& looks) const;

 private:
  const RecordedRun& run_;
  std::vector<std::uint64_t> usual_ns_;  ///< by stage
  std::vector<std::uint64_t> ends_ns_;   ///< by slow call: the latest end of it and those before it
};

}  // namespace infeed::tools
