#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "infeed/feed.h"

namespace infeed::detail {

/// The workers of a Feeder: who answers, who is silent, who failed.
class FedWorkers {
 public:
  using Clock = std::chrono::steady_clock;

  explicit FedWorkers(const std::vector<int>& ranks);

  std::size_t size() const { return workers_.size(); }
  const std::vector<FedWorker>& shown() const { return workers_; }
  FedWorker& operator[](std::size_t index) { return workers_[index]; }
  const FedWorker& operator[](std::size_t index) const { return workers_[index]; }
  bool answers(std::size_t index) const { return workers_[index].state == FedWorkerState::answers; }

  /// Returns the worker of that rank, if it is one, and notes that it has said something.
  std::optional<std::size_t> heard(int rank);
  /// Notes that something was asked of a worker, which has its time from now on.
  void asked(std::size_t index) { heard_[index] = Clock::now(); }
  void fail(std::size_t index, const Error& error);
  /// Notes that a worker is silent if it has said nothing for so long since then.
  void judge(std::size_t index, Clock::time_point since, std::chrono::milliseconds silent_after);
  /// Throws a terminal Error that names all of them.
  [[noreturn]] void throw_none_left(std::uint64_t step) const;

 private:
  std::vector<FedWorker> workers_;
  std::vector<Clock::time_point> heard_;  ///< by worker; or when it was asked
  std::optional<ErrorCode> failure_;      ///< that of the worker which failed last
};

}  // namespace infeed::detail
