#pragma once

#include <chrono>
#include <cstdint>
#include <string>

/// Why: "why was step 8,412 late?" is asked when the step is over. A recording run keeps what the
/// answer needs in a file that `infeed profile` reads, at less than 3 % of its time. The last
/// minutes are kept in full detail, late steps and elements for ever. The program needn't be
/// changed:
///
///     // $ INFEED_PROFILE=run.profile ./train        any program that iterates a dataset
///     // $ infeed profile run.profile
///
///     auto iterator = dataset.iterate({.recording = {.file = "run.profile"}});  // the same by code
///
/// INFEED_PROFILE applies to every iterator that names no file: the first one of a process writes
/// FILE, the next ones FILE-2, FILE-3 and so on. A recording of an earlier process is replaced; any
/// other file is not. With INFEED_TOP=1 `infeed top PID` can look on, by a file in /dev/shm.
///
/// Recording never ends a run. Problems (a full disk, a file that another process writes) are told
/// in RecordingStatus::problem and in the table of Iterator::statistics(). But a name to which
/// nothing can be recorded (its folder isn't there or may not be written, it is somebody's other
/// file) is refused by iterate(), as any wrong option is, unless it is the one that this process
/// recorded to last. So is INFEED_TOP where /dev/shm isn't there or may not be written.
///
/// pipeline/recording.md describes the format. Everything written stays readable even if the
/// process crashes.
namespace infeed {

struct RecordingOptions {
  std::string file = {};  ///< empty: the value of INFEED_PROFILE, or no recording
  /// A call of a function, a read or a stage's own work that takes longer is recorded one by one.
  std::chrono::microseconds slow_after{1000};
  /// The largest size of the file. When the file grows beyond it, the older half of the ordinary
  /// windows and steps is deleted.
  std::uint64_t bytes_max = 64 << 20;
  /// Lets `infeed top` of the same user look at the run.
  bool live = false;
};

struct RecordingStatus {
  bool is_on = false;
  std::string file = {};  ///< the file that is written
  /// Why nothing more is written to the file, or shown; empty while all is well.
  std::string problem = {};
};

/// The times of one step of a training loop, for a caller that has measured them. (A device does;
/// other loops use StepTimer.) The parts add up to the step's length.
struct StepTimes {
  std::chrono::steady_clock::time_point begin = {};
  std::chrono::nanoseconds infeed_wait{0};
  std::chrono::nanoseconds transfer{0};
  std::chrono::nanoseconds compute{0};
  std::chrono::nanoseconds all_reduce{0};
  std::chrono::nanoseconds idle{0};
  std::uint64_t elements = 1;  ///< elements of the pipeline's end that the step took
  std::string name = {};       ///< anything special about the step, such as "recompilation"
};

}  // namespace infeed
