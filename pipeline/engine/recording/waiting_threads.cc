#include "engine/recording/waiting_threads.h"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace infeed::detail {
namespace {

/// Returns the kind of a system call. Calls that a machine doesn't have are left out there.
const char* kind_of_system_call(long number) {
  switch (number) {
    case SYS_futex:
      return "lock";
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return "sleep";
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_preadv:
    case SYS_openat:
    case SYS_fstat:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_flock:
#ifdef SYS_open
    case SYS_open:
    case SYS_stat:
#endif
      return "file";
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_connect:
    case SYS_accept4:
    case SYS_ppoll:
    case SYS_epoll_pwait:
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
      return "network";
    default:
      return "other";
  }
}

}  // namespace

const char* where_thread_waits(int thread) {
  const std::string name = fmt::format("/proc/self/task/{}/syscall", thread);
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  std::array<char, 32> text{};
  const ssize_t got = ::read(descriptor, text.data(), text.size() - 1);
  ::close(descriptor);
  // The text is "running" or the call's number. -1: the thread waits outside of calls, for a page
  // to be read.
  if (got <= 0 || text[0] == 'r') return "";
  const long number = std::strtol(text.data(), nullptr, 10);
  return number < 0 ? "file" : kind_of_system_call(number);
}

}  // namespace infeed::detail
