#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/recording.h>
#include <infeed/pipeline/stage.h>
#include <infeed/pipeline/tuning.h>

#include "engine/recording/recorded_lines.h"
#include "engine/recording/recording_file.h"
#include "engine/recording/watched_thread.h"
#include "engine/threads/clock.h"
#include "engine/threads/periodic_thread.h"
#include "engine/threads/throttling.h"

namespace infeed {

class IteratorContext;

namespace detail {

class LivePage;

/// Keeps what an iterator that records does: collects it from the threads that work, and writes it
/// down in a thread of its own.
///
/// Invariants: what the working threads add (slow_, rows_, tuning_) is guarded by mutex_, the
/// threads by threads_mutex_; what the windows are made of belongs to the recorder's thread until
/// finish() has joined it.
class Recorder {
 public:
  /// Null where nobody wants a recording, or where it can't be begun: `status` then says why.
  static std::unique_ptr<Recorder> of(IteratorContext& run, const RecordingOptions& options,
                                      RecordingStatus& status);
  Recorder(IteratorContext& run, const RecordingOptions& options,
           std::optional<RecordingFile> file);
  ~Recorder();

  /// Stages are there from now on. Calls after the first one do nothing.
  void start() {
    if (thread_ == nullptr && !has_ended_) begin_thread();
  }
  /// Writes the rest, and why the run ended. Calls after the first one do nothing.
  void finish(const std::string& why);
  RecordingStatus status() const;

  // ---- for the threads that work ----
  /// Null where there are too many of them.
  WatchedThread* this_thread() {
    return watched_thread.recorder == number_ ? watched_thread.slot : find_this_thread();
  }
  /// With what it has used, which is looked at when that was last done two milliseconds ago: a
  /// reading takes 9 us, and one every millisecond was a third of what recording costs.
  WatchedThread* this_thread(std::uint64_t now_ticks) {
    WatchedThread* const thread = this_thread();
    const bool is_due = thread != nullptr && now_ticks >= thread->usage_due_ticks;
    if (is_due) [[unlikely]]
      renew_usage(*thread, now_ticks);
    return thread;
  }
  /// `thread` has waited for so long: what it hadn't of its core then is no part of its next call.
  void note_wait(WatchedThread& thread, std::uint64_t wait_ticks) const {
    if (wait_ticks >= stale_ticks_ / 8) thread.usage_due_ticks = 0;
  }
  /// The last call of the calling thread, with what it called: its times needn't be read again.
  OwnTime last_call() {
    const WatchedThread* const thread = this_thread();
    return thread == nullptr ? OwnTime{ticks_now(), 0} : thread->last;
  }
  std::uint64_t slow_ticks() const { return slow_ticks_; }
  bool is_slow(const OwnTime& time) const { return time.ticks >= slow_ticks_; }
  /// So short that nobody misses one of many.
  bool is_brief(const OwnTime& time) const { return time.ticks < brief_ticks_; }
  /// Returns the time of each of `calls`.
  std::uint64_t ns_of(const OwnTime& time, std::uint64_t calls) const {
    const std::uint64_t ns = ns_of(time.ticks);
    return calls <= 1 ? ns : ns / calls;
  }
  /// The elements of a stage in its pass: `count` from `position` on.
  struct Elements {
    std::uint64_t pass;
    std::uint64_t position;
    std::uint64_t count;
  };
  /// A call of the calling thread has been slow.
  void note_slow(const StageCounters& stage, const OwnTime& time, const Elements& elements,
                 TracedPlace traced);

  // ---- for the consumer's thread ----
  /// The consumer waited for its next elements.
  void note_pull(const OwnTime& wait, std::uint64_t elements) {
    if (has_steps_.load(std::memory_order_relaxed)) return;
    if (!has_pulls_ || wait.begin_ticks - pulls_.begin_ticks >= pulls_row_ticks_)
      begin_pulls(wait.begin_ticks);
    pulls_.wait_ticks += wait.ticks;
    pulls_.elements += elements;
  }
  /// From now on steps are told, and pulls are no rows of their own.
  void expect_steps() { has_steps_.store(true, std::memory_order_relaxed); }
  void note_step(const StepTimes& step);

  // ---- for the tuner's thread ----
  void note_tuning(std::string text);

 private:
  struct Wait {
    int thread;
    const StageCounters* stage;
    std::uint64_t at_ticks;
    const char* where;
  };

  /// Pulls of a loop that tells no steps, as many as make a row.
  struct Pulls {
    std::uint64_t begin_ticks = 0;
    std::uint64_t wait_ticks = 0;
    std::uint64_t elements = 0;
  };

  void begin_thread();
  WatchedThread* find_this_thread();
  void renew_usage(WatchedThread& thread, std::uint64_t now_ticks) const;
  static void read_usage(WatchedThread& thread, std::uint64_t now_ticks);
  std::uint64_t ns_of(std::uint64_t ticks) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{ticks} * ns_per_2_32_ticks_) >> 32);
  }
  std::uint64_t ns_since_start(std::uint64_t ticks) const {
    return ns_of(ticks - std::min(ticks, start_ticks_));
  }
  void begin_pulls(std::uint64_t now_ticks);
  void end_pulls(std::uint64_t now_ticks);
  void add_row(RecordedStepRow row);

  bool look();
  void look_for_quota();
  void look_at_threads();
  const char* seen_waiting(const RecordedSlowCall& call) const;
  std::uint64_t usual_call_ns(const StageCounters& stage) const;
  void append(const std::string& line);
  void flush();
  void write_header();
  void write_down(bool is_last);
  void write_window();
  void write_new_stages();
  void write_steps(std::vector<RecordedStepRow> rows);
  void write_slow_calls(std::vector<RecordedSlowCall> calls);
  void write_histograms();
  int id_of(const StageCounters& stage) const;

  IteratorContext& run_;
  const std::uint64_t slow_ticks_;
  const std::uint64_t brief_ticks_ = slow_ticks_ / 64;
  const std::uint64_t stale_ticks_ = ticks_of_us(2000);
  const std::uint64_t usage_age_ticks_max_ = 8 * stale_ticks_;
  const std::uint64_t pulls_row_ticks_ = ticks_of_us(1000);  ///< at least, so that rows stay few
  const std::uint64_t ns_per_2_32_ticks_ = static_cast<std::uint64_t>(0x1p32 / ticks_per_ns());
  const std::uint64_t start_ticks_;
  const std::chrono::steady_clock::time_point start_time_;
  const std::uint64_t number_;  ///< number of this recorder in the process

  std::mutex threads_mutex_;
  std::deque<WatchedThread> threads_;

  mutable std::mutex mutex_;
  std::vector<RecordedSlowCall> slow_;
  std::vector<RecordedStepRow> rows_;
  std::vector<std::pair<std::uint64_t, std::string>> tuning_;
  std::uint64_t dropped_ = 0;
  RecordingStatus status_;

  std::atomic<bool> has_steps_{false};
  std::uint64_t steps_ = 0;  ///< for the consumer's thread, as is what follows
  bool has_pulls_ = false;
  Pulls pulls_;

  // For the recorder's thread:
  std::optional<RecordingFile> file_;
  bool is_writing_ = true;
  WindowMaker windows_;
  StageIds ids_;
  std::vector<Wait> waits_;
  std::vector<std::uint64_t> step_lengths_ns_;  ///< the last few hundred
  std::uint64_t looks_ = 0;
  std::uint64_t looked_at_ticks_ = 0;
  ThrottlingAccounts accounts_;
  Throttling throttling_ = accounts_.read();
  std::uint64_t throttled_since_window_ns_ = 0;
  std::uint64_t windows_written_ = 0;
  bool has_ended_ = false;
  std::unique_ptr<LivePage> live_;
  std::unique_ptr<PeriodicThread> thread_;  // last: it uses the others
};

}  // namespace detail
}  // namespace infeed
