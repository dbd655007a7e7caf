#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include <infeed/world.h>

namespace infeed::detail {

/// Ends this process if MPI's start or end takes longer than the limit, as it does when a rank is
/// stopped there: all ranks wait for each other, and nobody answers questions yet or any more. A
/// launcher ends the other ranks then, also stopped ones. The line that is printed before names the
/// ranks that are stopped on this host.
///
/// While it lives, a thread watches.
class MpiWatch {
 public:
  /// `part`: "start" or "end". limit 0: INFEED_MPI_START_SECONDS, else 60 s. Throws invalid_argument
  /// if that is no number of seconds.
  MpiWatch(std::string_view part, std::chrono::nanoseconds limit, const World& world);

 private:
  void watch(const std::stop_token& over) const;

  const std::string part_;
  const std::chrono::nanoseconds limit_;
  const World world_;
  std::jthread thread_;
};

}  // namespace infeed::detail
