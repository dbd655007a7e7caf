#pragma once

#include <cstdint>
#include <vector>

#include "profile/recorded_run.h"

/// Why: another device would wait for the pipeline's time for each batch, too. A recording tells
/// this time only indirectly: it is seen from outside only if the training step waited for the
/// batch.
///
///     const RecordedService service = recorded_service(run);
///     ServiceTimes::replayed(service.ps, 1);
///
/// How: where a step and the one before it waited, the pipeline worked without a pause, and the
/// time between the two batches is what the second one took. A step that waited alone shows the
/// least that its batch took: batches made ahead hid the rest, which a slow call tells. Elsewhere,
/// and where that least is less, the work of the stages around that time (FlowModel, by windows)
/// says what a batch took on average; a slow call or a wait that was seen lengthens the batch that
/// it belongs to, and shortens the others around it, whose average it is part of.
namespace infeed::tools {

struct RecordedService {
  /// The time that each step's input took the pipeline, in picoseconds, in the order of the run.
  std::vector<std::int64_t> ps = {};
  /// A step gets so many batches, and examples in all of them; 0: no stage makes batches.
  double batches = 1;
  std::int64_t examples = 0;
  std::int64_t bytes = 0;
  std::int64_t step_ps = 0;      ///< the step's own time, in the middle
  std::int32_t queue_depth = 0;  ///< at the pipeline's end; 0: it works only when it is asked
  /// Part of its work was ahead, and part in the step's own thread: the times hold for a device
  /// that is fed ahead, and the run itself can't be replayed with them.
  bool works_in_step = false;
};

/// Throws Error (failed_precondition) when there is no step in it.
RecordedService recorded_service(const RecordedRun& run);

/// The times for `wanted` examples where `ps` are those for `examples`: several are put together,
/// or one is divided. At least one.
std::vector<std::int64_t> for_other_batches(const std::vector<std::int64_t>& ps,
                                            std::int64_t examples, std::int64_t wanted);

}  // namespace infeed::tools
