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

/// Keeps files open that are read again and again, a limited number at a time: a data set may have
/// more shards than a process may have descriptors. Closes the file that was not used for longest,
/// as nearly as one bit a file tells (a clock).
///
/// Thread-safety: any threads at once.
class OpenFiles {
 public:
  OpenFiles(std::size_t files, std::size_t open_max);

  /// Returns file `number`, opened by `name` if it isn't open. A holder may read on after the file
  /// has left the cache. Throws the errors of open_input_file().
  std::shared_ptr<const InputFile> get(std::size_t number, const std::string& name);

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const InputFile> file;
    std::atomic<bool> used = false;  // since the hand of the clock passed here
  };

  /// Counts the file among the open ones, and closes others.
  void note_open(std::size_t number);

  const std::size_t open_max_;
  std::vector<Slot> slots_;
  std::mutex mutex_;              // never taken while a slot's mutex is held
  std::deque<std::size_t> open_;  // the hand is at the front
};

}  // namespace infeed::detail
