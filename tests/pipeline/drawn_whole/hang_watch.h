#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/drawn_whole/run.h"

namespace infeed::test {

/// What a process ends with that hung; whoever started it goes on behind that pipeline.
inline constexpr int kHungStatus = 99;
/// A watchdog of a pipeline, a retry or a tuner sleep much shorter.
inline constexpr int kAsleepSeconds = 10;

/// Ends the process when one check of a pipeline takes longer than a limit, or when all its threads
/// have slept for kAsleepSeconds, and says which check, with the figures of the iterators that were at
/// work: a wait without end has no other sign. (On a busy machine a thread that is to run is not asleep.)
///
/// Thread-safety: any thread.
class HangWatch {
 public:
  explicit HangWatch(std::chrono::seconds limit);
  ~HangWatch();
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

  /// What is printed in front, and at the end, of a report.
  void begin(std::string description, std::string command);
  /// A check begins, from when on the time counts. `may_sleep`: it waits for another process.
  void check(std::string what, bool may_sleep = false);
  void end();

  /// Shows a run in the report as long as it lives.
  class Shown {
   public:
    Shown(HangWatch& watch, const Run& run);
    ~Shown();
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;

   private:
    HangWatch& watch_;
    const Run& run_;
  };

 private:
  void watch();
  bool is_asleep();
  [[noreturn]] void give_up(const std::string& why);

  const std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string description_;
  std::string command_;
  std::string check_;
  bool is_watching_ = false;
  bool may_sleep_ = false;
  bool is_over_ = false;
  int seconds_asleep_ = 0;
  std::int64_t cpu_ticks_ = 0;  ///< of the process, when it was last looked at
  std::chrono::steady_clock::time_point begun_;
  std::vector<const Run*> runs_;
  std::thread thread_;
};

}  // namespace infeed::test
