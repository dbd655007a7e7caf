#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "tune/pipeline_model.h"
#include "tune/tuning_windows.h"

// Finds the best setting by the model.
namespace infeed::detail {

/// The gain in rate that a change has to promise, unless it saves.
inline constexpr double kWorthAChange = 1.05;
/// The share of the rate that threads with a core each must keep by the model, against more threads
/// that share the cores.
inline constexpr double kSavingForetoldOnOwnCores = 0.96;

/// Returns the fewest workers that reach the best possible rate, with some to spare for uneven
/// elements: threads have to be quicker by `headroom` than they need to be. Work that threads do is
/// never moved into the consumer's thread, and a prefetch keeps its own.
KnobValues fewest_workers(const PipelineModel& model, const TuningObservation& seen,
                          double headroom);
/// Returns workers that have a core each, if the cores are the limit and the stages divide evenly
/// enough. Spare workers have no core to run on then, and take it from the others: with two stages
/// of 100 us on two cores, two threads reach 1.02 of the rate of five.
std::optional<KnobValues> with_own_cores(const PipelineModel& model, const TuningObservation& seen,
                                         const KnobValues& workers);
/// Returns the setting that does everything in the consumer's thread, if that promises `worth` of
/// the rate: on a busy machine, and with elements that cost less than their hand-over.
std::optional<KnobValues> serial_instead(const PipelineModel& model, const TuningObservation& seen,
                                         double worth);

/// Finds buffers that hold more than they need.
class IdleBuffers {
 public:
  /// Cuts a buffer that was never below a half down to a quarter: it only evens out elements.
  KnobValues shrunk(const PipelineModel& model, const TuningObservation& seen);

 private:
  struct Buffer {
    int idle_windows = 0;  ///< windows in a row in which it was too large
    std::int64_t shrunk_to = 0;
  };
  std::unordered_map<std::uint64_t, Buffer> buffers_;  ///< by knob id
};

}  // namespace infeed::detail
