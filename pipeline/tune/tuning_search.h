#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "tune/pipeline_model.h"
#include "tune/tuning_windows.h"

// Which setting would be the best, by the model.
namespace infeed::detail {

/// The gain in rate that a change has to promise, unless it saves.
inline constexpr double kWorthAChange = 1.05;
/// The share of the rate that threads with a core each must keep by the model, against more threads
/// that share the cores.
inline constexpr double kSavingForetoldOnOwnCores = 0.96;

/// At the best rate that is possible; where elements differ, with some to spare.
KnobValues fewest_workers(const PipelineModel& model, const TuningObservation& seen);
/// One thread for each core, where all cores are the limit and the stages divide so evenly. Workers to
/// spare have no core to run on then, and take it from the others: with two stages of 100 us on two
/// cores two threads have 1.02 of what five have.
std::optional<KnobValues> with_own_cores(const PipelineModel& model, const TuningObservation& seen,
                                         const KnobValues& workers);
/// Everything in the consumer's thread, where threads turn out slower than that would be: on a busy
/// machine, and with elements that cost less than to hand them over.
std::optional<KnobValues> serial_instead(const PipelineModel& model, const TuningObservation& seen);

/// Buffers that hold more than they need.
class IdleBuffers {
 public:
  /// Cuts a buffer that was never below a half down to a quarter: it only evens out elements.
  KnobValues shrunk(const PipelineModel& model, const TuningObservation& seen);

 private:
  struct Buffer {
    int idle_windows = 0;  ///< in a row that it was too large
    std::int64_t shrunk_to = 0;
  };
  std::unordered_map<std::uint64_t, Buffer> buffers_;  ///< by their knobs
};

}  // namespace infeed::detail
