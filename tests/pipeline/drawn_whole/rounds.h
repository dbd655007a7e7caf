#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "pipeline/drawn_whole/process_state.h"

namespace infeed::test {

/// Compares the process behind each round of pipelines with the first round that had seen
/// everything: a leak of a few bytes a pipeline is only seen over many of them. (Threads,
/// descriptors and larger leaks are looked for behind each pipeline.)
class Rounds {
 public:
  /// `command` repeats them, with the number of pipelines.
  explicit Rounds(std::string command);

  /// Looks at the process if so many pipelines end a round, and prints its figures.
  /// Returns true if memory has grown; then it is compared with the new size from then on.
  bool note(std::uint64_t pipelines);

 private:
  const std::string command_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::uint64_t rounds_ = 0;
  std::uint64_t first_bytes_ = 0;
  std::uint64_t first_resident_bytes_ = 0;
};

}  // namespace infeed::test
