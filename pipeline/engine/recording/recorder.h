#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/recording.h>
#include <infeed/pipeline/stage.h>

#include "engine/recording/held_back.h"
#include "engine/recording/recorded_lines.h"
#include "engine/recording/recorded_steps.h"
#include "engine/recording/recording_clock.h"
#include "engine/recording/recording_file.h"
#include "engine/recording/watched_threads.h"
#include "engine/threads/periodic_thread.h"
#include "engine/threads/throttling.h"

namespace infeed {

class IteratorContext;

namespace detail {

class LivePage;

/// Keeps what an iterator that records does: collects it from the threads that work, and writes it
/// down in a thread of its own.
///
/// Invariants: slow_, tuning_ and dropped_, which working threads add to, and status_, which any
/// may ask, are guarded by mutex_. The members that windows are made of belong to the recorder's
/// thread until finish() has joined it.
class Recorder {
 public:
  /// Returns null if nobody wants a recording, or if it can't be begun: `status` then says why.
  /// Throws Error if nothing can be recorded to the file's name, or shown on this machine.
  static std::unique_ptr<Recorder> of(IteratorContext& run, const RecordingOptions& options,
                                      RecordingStatus& status);
  Recorder(IteratorContext& run, const RecordingOptions& options,
           std::optional<RecordingFile> file);
  ~Recorder();

  /// Begins to look at the stages, which exist now. Calls after the first one do nothing.
  void start() {
    if (thread_ == nullptr && !has_ended_) begin_thread();
  }
  /// Writes what is left, and why the run ended. Calls after the first one do nothing.
  void finish(const std::string& why);
  RecordingStatus status() const;

  const RecordingClock& clock() const { return clock_; }
  WatchedThreads& threads() { return threads_; }
  RecordedSteps& steps() { return steps_; }
  /// The elements that a call handled: `count` of its stage's pass, from `position` on.
  struct Elements {
    std::uint64_t pass;
    std::uint64_t position;
    std::uint64_t count;
  };
  /// Keeps a slow call of the calling thread.
  void note_slow(const StageCounters& stage, const OwnTime& time, const Elements& elements,
                 TracedPlace traced);
  /// Keeps a line of the tuner's log.
  void note_tuning(std::string text);

 private:
  void begin_thread();
  bool look();
  void look_for_quota();
  void append(const std::string& line);
  void flush();
  void show_page();
  void write_header();
  void write_down(bool is_last);
  void write_window();
  void write_new_stages();
  void write_slow_calls(std::vector<RecordedSlowCall> calls);
  void write_histograms();

  IteratorContext& run_;
  const RecordingClock clock_;
  WatchedThreads threads_;
  RecordedSteps steps_{clock_};

  mutable std::mutex mutex_;
  std::vector<RecordedSlowCall> slow_;
  std::vector<std::pair<std::uint64_t, std::string>> tuning_;
  std::uint64_t dropped_ = 0;  ///< slow calls that were too many
  RecordingStatus status_;     ///< only whoever writes the file changes it

  // Members of the recorder's thread.
  std::optional<RecordingFile> file_;
  std::unique_ptr<LivePage> live_;
  WindowMaker windows_;
  StageIds ids_;
  ThrottlingAccounts accounts_;
  HeldBack held_back_;
  std::uint64_t looks_ = 0;
  bool has_ended_ = false;
  std::unique_ptr<PeriodicThread> thread_;  // last: it uses the others
};

}  // namespace detail
}  // namespace infeed
