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

/// Ends the process when one check of a pipeline takes longer than a limit, and says which, with the
/// figures of the iterators that were at work: a wait without end has no other sign.
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
  /// A check begins, from when on the time counts.
  void check(std::string what);
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
  [[noreturn]] void give_up();

  const std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string description_;
  std::string command_;
  std::string check_;
  bool is_watching_ = false;
  bool is_over_ = false;
  std::chrono::steady_clock::time_point begun_;
  std::vector<const Run*> runs_;
  std::thread thread_;
};

}  // namespace infeed::test
