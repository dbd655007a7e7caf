#include "records/refused_calls.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace infeed::test {
namespace {

thread_local RefusedCalls::Errors errors_of_calls;

bool is_refused(int error) {
  if (error != 0) errno = error;
  return error != 0;
}

}  // namespace

RefusedCalls::RefusedCalls(const Errors& errors) { errors_of_calls = errors; }
RefusedCalls::~RefusedCalls() { errors_of_calls = {}; }

}  // namespace infeed::test

// The whole test program calls these in place of the C library's.
extern "C" {

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  using infeed::test::errors_of_calls;
  if ((flags & RENAME_NOREPLACE) != 0 && infeed::test::is_refused(errors_of_calls.rename_to_new)) {
    return -1;
  }
  if ((flags & RENAME_EXCHANGE) != 0 && infeed::test::is_refused(errors_of_calls.exchange)) {
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int link(const char* from, const char* to) noexcept {
  if (infeed::test::is_refused(infeed::test::errors_of_calls.link)) return -1;
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int open(const char* name, int flags, ...) {
  const bool is_nameless = (flags & O_TMPFILE) == O_TMPFILE;
  if (is_nameless && infeed::test::is_refused(infeed::test::errors_of_calls.nameless)) return -1;
  std::va_list mode;
  va_start(mode, flags);
  const int opened = static_cast<int>(
      ::syscall(SYS_openat, AT_FDCWD, name, flags,
                is_nameless || (flags & O_CREAT) != 0 ? va_arg(mode, unsigned) : 0U));
  va_end(mode);
  return opened;
}

}  // extern "C"
