#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>
#include <thread>

/// Why: Ctrl-C must end a run in order: incomplete files are removed, threads are joined, and the
/// user is told what was kept. A separate thread takes SIGINT and SIGTERM. The first signal becomes
/// a stop request; a second one ends the program at once, in case something hangs.
///
///     infeed::tools::StopOnSignal signals;   // before any other thread is started
///     run(signals.token());
namespace infeed::tools {

class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  void watch() noexcept;
  void close_descriptors() noexcept;

  std::stop_source source_;
  int signals_ = -1;  ///< a signalfd
  int end_ = -1;      ///< an eventfd: the destructor ends the thread
  std::thread thread_;
};

/// Throws Error (cancelled) "stopped before {before}" after a stop request: for loops that the data
/// make long.
void throw_if_stopped(const std::stop_token& stop, std::string_view before);

/// Sleeps until that time. Returns false within a twentieth of a second of a stop request.
bool sleep_until(std::chrono::steady_clock::time_point time, const std::stop_token& stop);

}  // namespace infeed::tools
