/// Preloaded into the program under test: one system call on a file of one folder fails, is cut
/// short, changes the file, or is the program's last. fault.h says how the call is chosen.
///
/// | KIND | what happens |
/// |---|---|
/// | kill | the program ends by SIGKILL before the call |
/// | torn | half of a write, then SIGKILL |
/// | short | half of a read or write |
/// | EIO, ENOSPC | the call fails |
/// | EINTR | a call that a signal may interrupt fails once |
/// | ESTALE | a look at a file or folder (stat, opendir) fails, as when a network's disk is away |
/// | hang | a call never returns |
/// | cut, vanish, grow | before a read the file loses its second half, or its name, or gets longer |
/// | spoil | before a read another byte is written into the file's middle |

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "fault.h"

namespace infeed::faults {
namespace {

const CountAtEnd count_at_end;

bool changes_file() {
  const Fault& wanted = fault();
  return wanted.is("cut") || wanted.is("vanish") || wanted.is("grow") || wanted.is("spoil");
}

enum class Call { reads, writes, looks, others };

/// True if the kind of fault may strike such a call.
bool may_strike(Call call) {
  const Fault& wanted = fault();
  if (wanted.is("EINTR")) return call == Call::reads || call == Call::writes;
  if (wanted.is("ESTALE")) return call == Call::looks;
  if (changes_file()) return call == Call::reads;
  for (const char* const kind : {"kill", "torn", "short", "EIO", "ENOSPC", "hang"}) {
    if (wanted.is(kind)) return call != Call::looks;
  }
  return false;
}

/// A file's whole name, in a buffer of its own.
struct Path {
  std::array<char, 4096> text{};

  explicit Path(const char* name) {
    if (name[0] != '/') {
      syscall(SYS_getcwd, text.data(), text.size() - 1);
      text[std::strlen(text.data())] = '/';
    }
    const std::size_t begin = std::strlen(text.data());
    std::strncpy(text.data() + begin, name, text.size() - 1 - begin);
  }
  explicit Path(int descriptor) {
    std::array<char, 32> link{};
    std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
    syscall(SYS_readlink, link.data(), text.data(), text.size() - 1);
  }
  bool is_inside() const {
    return std::string_view(text.data()).starts_with(fault().folder.data());
  }
};

void die() { syscall(SYS_kill, getpid(), SIGKILL); }

void change(const Path& path) {
  if (fault().is("vanish")) {
    syscall(SYS_unlinkat, AT_FDCWD, path.text.data(), 0);
    return;
  }
  struct stat status {};
  if (syscall(SYS_newfstatat, AT_FDCWD, path.text.data(), &status, 0) != 0) return;
  if (fault().is("spoil")) {
    const long file = syscall(SYS_openat, AT_FDCWD, path.text.data(), O_WRONLY | O_CLOEXEC);
    syscall(SYS_pwrite64, file, "\x7f", 1, status.st_size / 2);
    syscall(SYS_close, file);
    return;
  }
  const off_t size = fault().is("cut") ? status.st_size / 2 : status.st_size + 1000;
  syscall(SYS_truncate, path.text.data(), size);
}

/// Does what the kind of fault does to any call. Returns the error number; 0: the call goes on.
int strike(const Path& path) {
  const Fault& wanted = fault();
  if (wanted.is("kill") || wanted.is("torn")) die();
  while (wanted.is("hang")) syscall(SYS_pause);
  if (changes_file()) change(path);
  if (wanted.is("EIO")) return EIO;
  if (wanted.is("ENOSPC")) return ENOSPC;
  if (wanted.is("EINTR")) return EINTR;
  return wanted.is("ESTALE") ? ESTALE : 0;
}

/// Returns -1 if the call must fail; 0 if it goes on. `name`: of a path, or a descriptor.
template <class Name>
int struck(Name name, const char* call, Call kind = Call::others) {
  if (fault().number < 0 || !may_strike(kind)) return 0;
  const Path path(name);
  if (!path.is_inside() || !is_turn(call)) return 0;
  const int error = strike(path);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

/// Returns the bytes that a call for `size` bytes may move; -1 if it must fail.
ssize_t room(int descriptor, const char* call, std::size_t size, Call kind) {
  const auto all = static_cast<ssize_t>(size);
  if (fault().number < 0 || !may_strike(kind)) return all;
  const Path path(descriptor);
  if (!path.is_inside() || !is_turn(call)) return all;
  if (fault().is("short") || (fault().is("torn") && kind == Call::writes)) {
    return size > 1 ? all / 2 : all;
  }
  const int error = strike(path);
  if (error == 0) return all;
  errno = error;
  return -1;
}

void die_if_torn(std::size_t size, ssize_t room) {
  if (static_cast<std::size_t>(room) < size && fault().is("torn")) die();
}

}  // namespace
}  // namespace infeed::faults

extern "C" {

using namespace infeed::faults;

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const Call kind = (flags & O_ACCMODE) == O_RDONLY ? Call::reads : Call::writes;
  if (struck(path, "open", kind) != 0) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  const ssize_t allowed = room(descriptor, "write", size, Call::writes);
  if (allowed < 0) return -1;
  const ssize_t done = syscall(SYS_write, descriptor, bytes, allowed);
  die_if_torn(size, allowed);
  return done;
}

ssize_t writev(int descriptor, const iovec* pieces, int count) {
  if (count == 0) return 0;
  // One piece is a legal short write, too.
  const ssize_t allowed = room(descriptor, "writev", pieces[0].iov_len, Call::writes);
  if (allowed < 0) return -1;
  if (static_cast<std::size_t>(allowed) == pieces[0].iov_len) {
    return syscall(SYS_writev, descriptor, pieces, count);
  }
  const ssize_t done = syscall(SYS_write, descriptor, pieces[0].iov_base, allowed);
  die_if_torn(pieces[0].iov_len, allowed);
  return done;
}

ssize_t read(int descriptor, void* bytes, std::size_t size) {
  const ssize_t allowed = room(descriptor, "read", size, Call::reads);
  return allowed < 0 ? -1 : syscall(SYS_read, descriptor, bytes, allowed);
}

ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset) {
  const ssize_t allowed = room(descriptor, "pread", size, Call::reads);
  return allowed < 0 ? -1 : syscall(SYS_pread64, descriptor, bytes, allowed, offset);
}

int fsync(int descriptor) {
  if (struck(descriptor, "fsync") != 0) return -1;
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

int ftruncate(int descriptor, off_t size) noexcept {
  if (struck(descriptor, "ftruncate") != 0) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, descriptor, size));
}

int flock(int descriptor, int operation) noexcept {
  // It has no other relevant failure.
  if (fault().is("kill") || fault().is("torn")) (void)struck(descriptor, "flock");
  return static_cast<int>(syscall(SYS_flock, descriptor, operation));
}

int rename(const char* from, const char* to) noexcept {
  if (struck(from, "rename") != 0) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  if (struck(from, "renameat2") != 0) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int unlink(const char* path) noexcept {
  if (struck(path, "unlink") != 0) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int remove(const char* path) noexcept {
  if (struck(path, "remove") != 0) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (struck(path, "mkdir") != 0) return -1;
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int stat(const char* path, struct stat* status) noexcept {
  if (struck(path, "stat", Call::looks) != 0) return -1;
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, 0));
}

int lstat(const char* path, struct stat* status) noexcept {
  if (struck(path, "lstat", Call::looks) != 0) return -1;
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW));
}

int fstat(int descriptor, struct stat* status) noexcept {
  if (struck(descriptor, "fstat", Call::looks) != 0) return -1;
  return static_cast<int>(syscall(SYS_newfstatat, descriptor, "", status, AT_EMPTY_PATH));
}

DIR* opendir(const char* path) {
  if (struck(path, "opendir", Call::looks) != 0) return nullptr;
  using Open = DIR*(const char*);
  static auto* const real = reinterpret_cast<Open*>(dlsym(RTLD_NEXT, "opendir"));
  return real(path);
}

}  // extern "C"
