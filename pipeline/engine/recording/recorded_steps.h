#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <infeed/pipeline/recording.h>

#include "engine/recording/recorded_lines.h"
#include "engine/recording/recording_clock.h"

namespace infeed::detail {

/// The steps of an iterator's consumer: those that it tells, or else its pulls.
///
/// Invariants: rows_ and dropped_ are guarded by the mutex, under which are_told_ changes, too;
/// lengths_ns_ and judged_ belong to the recorder's thread, all else to the consumer's.
class RecordedSteps {
 public:
  explicit RecordedSteps(const RecordingClock& clock) : clock_(clock) {}

  // ---- for the consumer's thread ----
  /// Counts a pull, in which the consumer waited for its next elements.
  void note_pull(const OwnTime& wait, std::uint64_t elements) {
    if (are_told_.load(std::memory_order_relaxed)) return;
    if (!has_pulls_ || wait.begin_ticks - pulls_.begin_ticks >= pulls_row_ticks_)
      begin_pulls(wait.begin_ticks);
    pulls_.wait_ticks += wait.ticks;
    pulls_.elements += elements;
  }
  /// Takes back elements of the last pull that the consumer hasn't taken and won't take.
  void take_back(std::uint64_t elements) { pulls_.elements -= std::min(elements, pulls_.elements); }
  /// Expects told steps from now on: pulls make no rows any more, and those that wait to be written
  /// are dropped. They would count as told steps, the last of them as one that lasts to the end.
  void expect();
  void note(const StepTimes& step);
  /// Makes a row of the pulls so far.
  void end_pulls(std::uint64_t now_ticks);

  // ---- for the recorder's thread ----
  /// Returns the lines of the rows that came since the last call.
  std::vector<std::string> take_lines();
  /// Returns how many rows were dropped since they came too quickly.
  std::uint64_t dropped();

 private:
  /// Pulls of a loop that tells no steps: as many as make a row.
  struct Pulls {
    std::uint64_t begin_ticks = 0;
    std::uint64_t wait_ticks = 0;
    std::uint64_t elements = 0;
  };

  void begin_pulls(std::uint64_t now_ticks);
  void add_row(RecordedStepRow row);
  std::uint64_t length_of_late_ns() const;

  const RecordingClock& clock_;
  const std::uint64_t pulls_row_ticks_ = ticks_of_us(1000);  ///< or more, so that rows stay few
  std::atomic<bool> are_told_{false};
  std::uint64_t steps_ = 0;
  bool has_pulls_ = false;
  Pulls pulls_;
  std::vector<std::uint64_t> lengths_ns_;  ///< lengths of the last few hundred
  std::uint64_t judged_ = 0;               ///< rows since there are so many

  std::mutex mutex_;
  std::vector<RecordedStepRow> rows_;
  std::uint64_t dropped_ = 0;
};

}  // namespace infeed::detail
