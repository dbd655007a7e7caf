#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// Why: `infeed profile`, `infeed compare` and the exporters read recordings of training processes
/// (INFEED_PROFILE, IterateOptions::recording) in one form, whatever recorded them.
///
///     const RecordedRun run = read_recorded_run("run.profile");
///     for (const RecordedStep& step : run.steps) ...
///
/// All times are nanoseconds since the iteration began; `started_unix_s` ties them to the calendar.
/// The file's lines are described in pipeline/recording.md.
namespace infeed::tools {

struct RecordedStage {
  int id = 0;               ///< index in RecordedRun::stages; it never changes within a run
  std::string name = {};    ///< its kind: "map"
  std::string label = {};   ///< "map[1] 'augment'"
  std::string path = {};    ///< "prefetch < batch < map[1]"
  int consumer = -1;        ///< the stage that pulls it; -1 next to the training step
  int inside = -1;          ///< the flat_map or interleave in whose inner datasets it is
  bool runs_ahead = false;  ///< its input runs in other threads than its consumer
  bool is_random = false;   ///< it draws numbers, so its elements differ from pass to pass
};

/// A stage's work in a window, and how full it was at its end. Times are sums over threads.
struct StageWindow {
  int stage = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  std::uint64_t cpu_ns = 0;      ///< its own work, on a core
  std::uint64_t blocked_ns = 0;  ///< its own work, off the core: storage, a lock, a sleep
  std::uint64_t wait_ns = 0;     ///< its consumer waited for it (stages that run ahead)
  std::uint64_t full_ns = 0;     ///< its thread waited for room (stages that run ahead)
  std::uint64_t buffered_elements = 0;
  std::uint64_t buffered_bytes = 0;
  std::uint64_t queue_elements_max = 0;  ///< 0: it has no queue
  int parallelism = 1;
  bool is_serial = false;  ///< the tuner let its threads rest: its consumer works
};

struct RecordedWindow {
  std::uint64_t begin_ns = 0;
  std::uint64_t length_ns = 0;
  std::uint64_t elements = 0;          ///< taken by the training step
  std::uint64_t consumer_wait_ns = 0;  ///< part of the window: it was inside next()
  std::uint64_t process_cpu_ns = 0;
  std::uint64_t throttled_ns = 0;  ///< the CPU quota held the process back
  double cores = 0;                ///< that the process may use: affinity and quota
  double cores_of_others = 0;      ///< busy with other processes
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;  ///< 0: none
  std::uint64_t memory_refusals = 0;     ///< times that reading ahead found no room
  std::vector<StageWindow> stages = {};
};

/// One training step: its five parts add up to its length.
struct RecordedStep {
  std::uint64_t number = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t infeed_wait_ns = 0;
  std::uint64_t transfer_ns = 0;
  std::uint64_t compute_ns = 0;
  std::uint64_t all_reduce_ns = 0;
  std::uint64_t idle_ns = 0;
  std::uint64_t elements = 1;  ///< taken from the pipeline's end
  std::string name = {};       ///< StepTimer's, such as "recompilation"; empty: an ordinary one

  std::uint64_t length_ns() const {
    return infeed_wait_ns + transfer_ns + compute_ns + all_reduce_ns + idle_ns;
  }
  std::uint64_t end_ns() const { return begin_ns + length_ns(); }
};

/// The record (or the few records) of a file that an element was made from.
struct RecordedPlace {
  std::string file = {};
  std::uint64_t record = 0;  ///< the first one, from 0
  std::uint64_t count = 1;
  std::optional<std::uint64_t> offset = std::nullopt;  ///< place of the first one, in bytes
};

/// A call that took long: of a user's function, of a read, of a stage's own code.
struct SlowCall {
  std::uint64_t begin_ns = 0;
  std::uint64_t took_ns = 0;
  std::uint64_t cpu_ns = 0;        ///< part of took_ns, on a core
  std::uint64_t preempted_ns = 0;  ///< part of took_ns: ready to run, but others had the cores
  int stage = 0;
  std::uint64_t position = 0;  ///< among the stage's elements in its pass, from 0
  std::uint64_t count = 1;     ///< it is one of this many elements
  std::uint64_t pass = 0;
  int thread = 0;
  /// Where it was seen to wait: "lock", "sleep", "file", "network", "memory" (a page that had to
  /// be read), "other"; empty: it was not seen waiting.
  std::string waited_in = {};
  std::optional<RecordedPlace> place = std::nullopt;
  std::string untraceable = {};  ///< why there is no place

  std::uint64_t end_ns() const { return begin_ns + took_ns; }
};

/// A line of the tuner's log.
struct RecordedTuning {
  std::uint64_t at_ns = 0;
  std::string text = {};
};

/// The CPU quota held all threads of the process back.
struct HeldBack {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

struct RecordedRun {
  std::string path = {};  ///< where the file is
  int version = 1;
  std::string program = {};
  std::string host = {};
  std::int64_t process = 0;
  double started_unix_s = 0;
  std::uint64_t slow_after_ns = 1'000'000;  ///< calls that took longer were kept
  double cores = 1;
  bool has_steps = false;  ///< StepTimer or a device timed them; else each next() counts as one
  std::string end = {};    ///< "end of data", "cancelled", "iterator destroyed", an error's text
  bool is_cut = false;     ///< no end was written: the process was killed, or still runs
  std::uint64_t dropped_events = 0;  ///< that came too quickly to be written
  /// Where the oldest detail begins. A recording that outgrew its limit keeps only late steps from
  /// before, which say nothing about how long steps usually took; 0: it has all steps.
  std::uint64_t detail_from_ns = 0;
  std::vector<RecordedStage> stages = {};
  std::vector<RecordedWindow> windows = {};
  std::vector<RecordedStep> steps = {};
  std::vector<SlowCall> slow_calls = {};
  std::vector<RecordedTuning> tuning = {};
  std::vector<HeldBack> held_back = {};
  /// By stage id: how many of its calls took 2^i to 2^(i+1) ns of its own time.
  std::vector<std::vector<std::uint64_t>> call_histograms = {};

  std::uint64_t end_ns() const;
  /// Returns the steps from detail_from_ns on: those that rates and shares are taken from.
  std::span<const RecordedStep> detailed_steps() const;
  /// Returns how many steps one of `steps` stands for: calls of next() that took less than a
  /// millisecond are put together.
  std::uint64_t count_of(const RecordedStep& step) const { return has_steps ? 1 : step.elements; }
  /// Returns the number of detailed steps, or of calls of next() where nobody has timed steps.
  std::uint64_t steps_taken() const;
  /// Returns the time between the end of the last step and that of the last window, in which a step
  /// may have begun; 0 without steps.
  std::uint64_t since_last_step_ns() const;
};

/// Throws Error: the file isn't there, is none of ours (it says what it is instead), is of a later
/// version, has a damaged line before its last, or somebody asked to stop (cancelled). A last line
/// that is cut is left out.
RecordedRun read_recorded_run(const std::string& path, const std::stop_token& stop = {});
/// The same of a file's content; errors name `path`.
RecordedRun parse_recorded_run(std::string_view text, const std::string& path,
                               const std::stop_token& stop = {});

/// Returns the value in the middle, such as the length of a typical step; 0 if there is no value.
template <class Value>
Value middle_of(std::vector<Value> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace infeed::tools
