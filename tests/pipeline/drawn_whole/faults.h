#pragma once

#include <cstdint>
#include <string>

namespace infeed::test {

enum class Fault {
  short_io,   ///< reads and writes of fewer bytes than asked for, and EINTR
  io_error,   ///< those, EIO for reads and ENOSPC for writes
  no_thread,  ///< the system starts no further thread
};
inline constexpr const char* kFaultNames[] = {"short reads and writes", "failing reads and writes",
                                              "threads that don't start"};

/// Lets one system call in `each` of this process fail at random while it lives: on files of
/// `folder`, or those that start threads.
///
/// One at a time. Sanitizers replace the same functions, so nothing fails under them.
class Faults {
 public:
  Faults(Fault fault, const std::string& folder, std::uint64_t seed, std::uint64_t each);
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  static bool are_possible();
};

}  // namespace infeed::test
