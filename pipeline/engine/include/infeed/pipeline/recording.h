#pragma once

#include <chrono>
#include <cstdint>
#include <string>

/// Why: "why was step 8,412 late?" is asked when the step is over. A run that records keeps what is
/// needed for the answer in a file that `infeed profile` reads, at less than 3 % of its time; the
/// last minutes in full detail, what came late for ever. The program needn't be changed:
///
///     // $ INFEED_PROFILE=run.profile ./train        any program that iterates a dataset
///     // $ infeed profile run.profile
///
///     auto iterator = dataset.iterate({.recording = {.file = "run.profile"}});  // the same by code
///
/// INFEED_PROFILE counts for every iterator that names no file: the first one of a process writes
/// FILE, the next ones FILE-2, FILE-3 and so on. A file of an earlier process is replaced; one that
/// is no recording is not. INFEED_TOP=1 lets `infeed top PID` look on.
///
/// Recording never ends a run: what goes wrong (a full disk, a file that another process writes) is
/// in RecordingStatus::problem and in the table of Iterator::statistics().
///
/// The format is described in pipeline/recording.md; what was written is readable whatever becomes
/// of the process.
namespace infeed {

struct RecordingOptions {
  std::string file = {};  ///< empty: what INFEED_PROFILE says, or none
  /// A call of a function, a read or a stage's own work that takes longer is kept one by one.
  std::chrono::microseconds slow_after{1000};
  /// The older half of the ordinary windows and steps goes when the file grows beyond it.
  std::uint64_t bytes_max = 64 << 20;
  /// `infeed top` of the same user may look at the run.
  bool live = false;
};

struct RecordingStatus {
  bool is_on = false;
  std::string file = {};     ///< that is written
  std::string problem = {};  ///< why nothing more is written; empty while all is well
};

/// One step of a training loop, for a caller that has measured it (a device does; StepTimer for
/// other loops). The parts add up to its length.
struct StepTimes {
  std::chrono::steady_clock::time_point begin = {};
  std::chrono::nanoseconds infeed_wait{0};
  std::chrono::nanoseconds transfer{0};
  std::chrono::nanoseconds compute{0};
  std::chrono::nanoseconds all_reduce{0};
  std::chrono::nanoseconds idle{0};
  std::uint64_t elements = 1;  ///< of the pipeline's end that it took
  std::string name = {};       ///< what is special about it, such as "recompilation"
};

}  // namespace infeed
