#pragma once

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

/// Why: a library that is preloaded into the program under test makes one of its calls fail. The
/// environment chooses the call:
///
///     INFEED_FAULT="KIND NUMBER FOLDER REPORT"
///
/// NUMBER: of the call, from 1. FOLDER: where the file lies, by its whole path. REPORT: a file that
/// gets the name of the call when it is reached. No blanks in either. With the number 0 no call
/// fails, and the report gets the count of those that might have. Nothing here takes memory, and
/// all goes to the kernel by syscall(), so that no other wrapper is passed through.
namespace infeed::faults {

struct Fault {
  std::array<char, 32> kind{};
  long number = -1;  ///< -1: there is no fault
  std::array<char, 1024> folder{};
  std::array<char, 1024> report{};

  bool is(std::string_view name) const { return name == kind.data(); }
};

inline Fault read_fault() {
  Fault result;
  const char* const text = std::getenv("INFEED_FAULT");
  if (text == nullptr ||
      std::sscanf(text, "%31s %ld %1023s %1023s", result.kind.data(), &result.number,
                  result.folder.data(), result.report.data()) != 4) {
    result.number = -1;
  }
  return result;
}

inline const Fault& fault() {
  static const Fault the_fault = read_fault();
  return the_fault;
}

/// Returns a descriptor to which the report goes.
inline int open_report() {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, fault().report.data(),
                                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
}

inline void report(std::string_view text) {
  const int file = open_report();
  syscall(SYS_write, file, text.data(), text.size());
  syscall(SYS_close, file);
}

/// Number of calls so far that might have failed.
inline std::atomic<long> calls{0};

/// Counts a call. Returns true if it is this one's turn.
inline bool is_turn(const char* call) {
  if (++calls != fault().number) return false;
  report(call);
  return true;
}

/// Reports the count when the process ends.
struct CountAtEnd {
  ~CountAtEnd() {
    if (fault().number != 0) return;
    std::array<char, 32> text{};
    const int size = std::snprintf(text.data(), text.size(), "%ld", calls.load());
    report({text.data(), static_cast<std::size_t>(size)});
  }
};

}  // namespace infeed::faults
