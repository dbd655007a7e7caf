#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/drawn_whole/run.h"

namespace infeed::test {

/// Exit status of a process that hung; the process that started it goes on with the next pipeline.
inline constexpr int kHungStatus = 99;
/// Far longer than a pipeline's watchdog, retry or tuner sleeps.
inline constexpr int kAsleepSeconds = 10;

/// Ends the process when one check of a pipeline takes longer than a limit, or when all its threads
/// have slept for kAsleepSeconds: an endless wait has no other sign. Names the check, with the
/// figures of the working iterators. (On a busy machine a thread that is ready to run is not
/// asleep.)
///
/// Thread-safety: any thread.
class HangWatch {
 public:
  explicit HangWatch(std::chrono::seconds limit);
  ~HangWatch();
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

  /// Sets the texts in front and at the end of a report.
  void begin(std::string description, std::string command);
  /// Begins a check, whose time counts from now on. `may_sleep`: it waits for another process.
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
  std::int64_t cpu_ticks_ = 0;  ///< the process's, at the last look
  std::chrono::steady_clock::time_point begun_;
  std::vector<const Run*> runs_;
  std::thread thread_;
};

}  // namespace infeed::test
