#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace infeed::test {

/// What a process holds at a moment. Nothing of it may grow from one pipeline to the next.
struct ProcessState {
  std::size_t threads = 0;      ///< of the library, which have names; TBB's stay
  std::size_t descriptors = 0;  ///< of open files
  std::uint64_t bytes = 0;      ///< by counting_allocator.h

  static ProcessState now();
  /// Threads that are joined leave /proc a little later; waits up to ten seconds until there are no
  /// more than that. False if there still are.
  static bool wait_for_threads(std::size_t threads);
  /// Names of the library's threads, and of what the descriptors lead to.
  static std::string names();
};

}  // namespace infeed::test
