/// Preloaded into the program under test: one system call on a file of one folder fails, is cut
/// short, or is the program's last. The environment chooses the call:
///
///     INFEED_FAULT="KIND NUMBER FOLDER REPORT"
///
/// KIND: kill (before the call), torn (half of a write, then kill), short (half of a write), EIO,
/// ENOSPC. NUMBER: of the call, from 1. REPORT: a file that gets the name of the call when it is
/// reached. All goes to the kernel by syscall(), so that no other wrapper is passed through.

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <string>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

struct Fault {
  std::string kind;
  long number = 0;
  std::string folder;
  std::string report;
};

const Fault& fault() {
  static const Fault the_fault = [] {
    Fault result;
    const char* const text = std::getenv("INFEED_FAULT");
    std::istringstream words(text == nullptr ? "" : text);
    words >> result.kind >> result.number >> result.folder >> result.report;
    return result;
  }();
  return the_fault;
}

std::string path_of(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  std::array<char, 4096> path{};
  const long size = syscall(SYS_readlink, link.c_str(), path.data(), path.size());
  return size < 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(size));
}

/// True if it is this call's turn.
bool is_hit(const std::string& path, const char* call) {
  static std::atomic<long> count{0};
  const Fault& wanted = fault();
  if (wanted.folder.empty() || !path.starts_with(wanted.folder)) return false;
  if (++count != wanted.number) return false;
  const long report =
      syscall(SYS_openat, AT_FDCWD, wanted.report.c_str(), O_WRONLY | O_CREAT, 0600);
  syscall(SYS_write, report, call, std::strlen(call));
  syscall(SYS_close, report);
  return true;
}

void die() { syscall(SYS_kill, getpid(), SIGKILL); }

/// Returns -1 if the call must fail; 0 if it goes on.
int struck(const std::string& path, const char* call) {
  if (!is_hit(path, call)) return 0;
  const std::string& kind = fault().kind;
  if (kind == "kill" || kind == "torn") die();
  if (kind == "short") return 0;
  errno = kind == "EIO" ? EIO : ENOSPC;
  return -1;
}

/// Returns the bytes left of a write of `size` bytes; -1 if it must fail.
ssize_t room(int descriptor, const char* call, std::size_t size) {
  if (!is_hit(path_of(descriptor), call)) return static_cast<ssize_t>(size);
  const std::string& kind = fault().kind;
  if (kind == "kill") die();
  if (kind == "short" || kind == "torn") return static_cast<ssize_t>(size > 1 ? size / 2 : size);
  errno = kind == "EIO" ? EIO : ENOSPC;
  return -1;
}

void die_if_torn(std::size_t size, ssize_t room) {
  if (static_cast<std::size_t>(room) < size && fault().kind == "torn") die();
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (struck(path, "open") != 0) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  const ssize_t allowed = room(descriptor, "write", size);
  if (allowed < 0) return -1;
  const ssize_t done = syscall(SYS_write, descriptor, bytes, allowed);
  die_if_torn(size, allowed);
  return done;
}

ssize_t writev(int descriptor, const iovec* pieces, int count) {
  if (count == 0) return 0;
  // One piece is a legal short write, too.
  const ssize_t allowed = room(descriptor, "writev", pieces[0].iov_len);
  if (allowed < 0) return -1;
  if (static_cast<std::size_t>(allowed) == pieces[0].iov_len) {
    return syscall(SYS_writev, descriptor, pieces, count);
  }
  const ssize_t done = syscall(SYS_write, descriptor, pieces[0].iov_base, allowed);
  die_if_torn(pieces[0].iov_len, allowed);
  return done;
}

ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset) {
  if (struck(path_of(descriptor), "pread") != 0) return -1;
  return syscall(SYS_pread64, descriptor, bytes, size, offset);
}

int fsync(int descriptor) {
  if (struck(path_of(descriptor), "fsync") != 0) return -1;
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

int ftruncate(int descriptor, off_t size) {
  if (struck(path_of(descriptor), "ftruncate") != 0) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, descriptor, size));
}

int flock(int descriptor, int operation) {
  if (is_hit(path_of(descriptor), "flock")) die();  // it has no other relevant failure
  return static_cast<int>(syscall(SYS_flock, descriptor, operation));
}

int rename(const char* from, const char* to) {
  if (struck(from, "rename") != 0) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (struck(from, "renameat2") != 0) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int unlink(const char* path) {
  if (struck(path, "unlink") != 0) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int remove(const char* path) {
  if (struck(path, "remove") != 0) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int mkdir(const char* path, mode_t mode) {
  if (struck(path, "mkdir") != 0) return -1;
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

}  // extern "C"
