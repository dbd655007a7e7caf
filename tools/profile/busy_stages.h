#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/recorded_run.h"

/// Why: a step that waited although no single call took long may have waited for a stage that is too
/// slow on average. Such a stage has worked while the step waited, beyond what it always does; where
/// none has, the time went elsewhere (a thread that woke late, a core that was away) and no stage must
/// be blamed for it. Calls that took unusually long are left out but for what lies in the wait: each
/// is blamed by itself, and a stall of 60 ms would make its stage look busy to the step behind it.
namespace infeed::tools {

class BusyStages {
 public:
  /// `unusual_ns`: by stage, what its unusually long calls took in the run.
  BusyStages(const RecordedRun& run, const std::vector<std::uint64_t>& unusual_ns);

  /// The stage that worked most in these windows, in which somebody waited for `wait_ns`; -1 where it
  /// worked no more than it usually does in the time that is left. `unusual_ns`: by stage, what the
  /// unusually long calls that ended in the windows took outside the wait.
  int starving_stage(std::span<const RecordedWindow> windows, std::uint64_t wait_ns,
                     const std::vector<std::uint64_t>& unusual_ns) const;

 private:
  /// By stage: of its thread's time, or of each of its threads'.
  static std::vector<double> busy_ns(std::span<const RecordedWindow> windows,
                                     const std::vector<std::uint64_t>& unusual_ns);

  std::vector<double> usual_shares_;  ///< by stage: busy, of the whole run
};

}  // namespace infeed::tools
