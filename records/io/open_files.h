#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/input_file.h"

namespace infeed::detail {

/// Keeps files open that are read from again and again, a limited number of them at a time: a data
/// set may have more shards than a process may have descriptors. The one that was not used for
/// longest goes, as nearly as one bit a file tells (a clock).
///
/// Thread-safety: any threads at once.
class OpenFiles {
 public:
  OpenFiles(std::size_t files, std::size_t open_max);

  /// The file of this number, opened by `name` where it isn't. Whoever holds it may read on when it
  /// has left. Throws what open_input_file() does.
  std::shared_ptr<const InputFile> get(std::size_t number, const std::string& name);

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const InputFile> file;
    std::atomic<bool> used = false;  // since the hand of the clock was here
  };

  /// Counts it among the open ones, and closes others.
  void note_open(std::size_t number);

  const std::size_t open_max_;
  std::vector<Slot> slots_;
  std::mutex mutex_;              // is never taken by who has a slot's
  std::deque<std::size_t> open_;  // the hand is at the front
};

}  // namespace infeed::detail
