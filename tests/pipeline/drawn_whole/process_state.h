#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace infeed::test {

/// The resources of a process at a moment. None may grow from one pipeline to the next.
struct ProcessState {
  std::size_t threads = 0;       ///< the library's, which have names; TBB's stay
  std::size_t descriptors = 0;   ///< open files
  std::size_t mapped_files = 0;  ///< libraries left out
  std::size_t live_pages = 0;    ///< files that `infeed top` would read
  std::uint64_t bytes = 0;       ///< live ones: of malloc and its kin, by counted_memory.h

  static ProcessState now();
  /// Waits up to a minute until there are no more threads than that: joined threads leave /proc
  /// a little later. Returns false if there still are.
  static bool wait_for_threads(std::size_t threads);
  /// Waits until no more bytes are in use, or for five seconds none was freed, and returns how many
  /// are. TBB keeps the calls of an executor that has ended until one of its workers gets a core.
  static std::uint64_t wait_for_bytes(std::uint64_t bytes_max);
  /// Returns the names of the library's threads, of the descriptors' targets and of the files.
  static std::string names();
};

}  // namespace infeed::test
