#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/recorded_run.h"
#include "profile/unusual_calls.h"

/// Why: a step that waited although no single call took long may have waited for a stage that is
/// too slow on average. Such a stage has worked while the step waited, beyond what it always does;
/// where none has, the time went elsewhere (a thread that woke late, a core that was away) and no
/// stage must be blamed for it. Calls that took unusually long are left out but for what lies in
/// the wait: each is blamed by itself, and a stall of 60 ms would make its stage look busy to the
/// step behind it.
namespace infeed::tools {

class BusyStages {
 public:
  /// The arguments must outlive it.
  BusyStages(const RecordedRun& run, const UnusualCalls& unusual_calls);

  /// Returns the stage that worked most in these windows, in which somebody waited for `waited_ns`,
  /// in `wait`; -1 if it worked no more than it usually does in the time that is left. `looks`: as
  /// in UnusualCalls.
  int starving_stage(std::span<const RecordedWindow> windows, const Interval& wait,
                     std::uint64_t waited_ns, std::uint64_t& looks) const;

 private:
  /// The busy time of a stage's thread, or of each of its threads.
  struct Busy {
    double ns = 0;          ///< without unusual_ns
    double unusual_ns = 0;  ///< in calls that are left out
  };
  /// By stage.
  static std::vector<Busy> busy_stages(std::span<const RecordedWindow> windows,
                                       const std::vector<std::uint64_t>& unusual_ns);

  const UnusualCalls& unusual_calls_;
  std::vector<double> usual_shares_;  ///< busy share of the whole run, by stage
};

}  // namespace infeed::tools
