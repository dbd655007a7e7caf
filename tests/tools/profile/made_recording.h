#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/recorded_run.h"

/// Recordings whose truth is known: they are made by the recursion that replays them.
namespace infeed::test {

struct Truth {
  std::vector<std::int64_t> service_ps = {};
  std::int64_t step_ps = 10'000'000'000;
  std::int32_t depth = 2;  ///< 0: a pipeline without a prefetch
  std::int64_t steps_per_window = 20;
};

/// prefetch < batch < map < records, or the same without prefetch: batches of 32, 3200 bytes. The
/// map does the work, in one thread.
tools::RecordedRun recording_of(const Truth& truth);
/// The same where `threads` threads of the map do the work, on as many cores.
tools::RecordedRun parallel_recording_of(const Truth& truth, int threads);

/// Returns the lines of the file in which a process would have written such a recording.
std::string recording_text(const tools::RecordedRun& run);

/// Returns whole microseconds, each as likely.
std::vector<std::int64_t> drawn_times(std::size_t count, std::int64_t least_ps,
                                      std::int64_t most_ps);

}  // namespace infeed::test
