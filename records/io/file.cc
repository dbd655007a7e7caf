#include "infeed/records/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "infeed/records/files.h"
#include "infeed/records/limits.h"
#include "io/file_calls.h"
#include "io/input_file.h"

namespace infeed {

ssize_t detail::write_once(int descriptor, std::string_view bytes) noexcept {
  sigset_t too_large;
  sigset_t before;
  ::sigemptyset(&too_large);
  ::sigaddset(&too_large, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &too_large, &before);
  ssize_t written = -1;
  do {
    written = ::write(descriptor, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  const int error_number = errno;
  if (written < 0 && error_number == EFBIG) {
    const timespec at_once{};
    while (::sigtimedwait(&too_large, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error_number;
  return written;
}

void detail::require_no_url(const std::string& name, std::string_view what) {
  if (!is_url(name)) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("a URL is only read here, not written: name a {} of this machine", what))
      .at_file(name);
}

void detail::let_calls_wait(const File& file) {
  const int flags = ::fcntl(file.descriptor(), F_GETFL);
  if (flags < 0 || ::fcntl(file.descriptor(), F_SETFL, flags & ~O_NONBLOCK) < 0) {
    throw system_error("examine", file.name(), errno);
  }
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::move(other.name_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(name_, other.name_);
  return *this;
}

File::~File() { close(); }

void File::close() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

namespace {

/// Most bytes read from a device: /dev/zero has no end; a terminal and /dev/null have one.
constexpr std::size_t kDeviceBytesMax = std::size_t{64} << 20;

struct stat examine(const File& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) throw system_error("examine", file.name(), errno);
  return status;
}

const char* kind_of(mode_t mode) {
  return S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

bool is_device(const File& file) {
  const mode_t mode = examine(file).st_mode;
  return S_ISCHR(mode) || S_ISBLK(mode);
}

/// Returns true if the pipe is the standard input, as /dev/stdin is.
bool is_standard_input(const struct stat& pipe) {
  struct stat status {};
  return ::fstat(STDIN_FILENO, &status) == 0 && status.st_dev == pipe.st_dev &&
         status.st_ino == pipe.st_ino;
}

/// Waits until there are bytes, or no more writers. A pipe that is opened without waiting has no bytes
/// until its first writer has come. Throws Error cancelled after a stop request.
void wait_until_readable(const File& file, const std::stop_token& stop) {
  constexpr int kLookEveryMs = 50;
  pollfd waited{file.descriptor(), POLLIN, 0};
  while (!stop.stop_requested()) {
    const int ready = ::poll(&waited, 1, stop.stop_possible() ? kLookEveryMs : -1);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw system_error("read", file.name(), errno);
  }
  throw Error(ErrorCode::cancelled, "stopped before the file was read").at_file(file.name());
}

/// True if another user's file may lie in the folder and look like ours: anybody may write there,
/// and nobody may remove what another owns (/tmp, /dev/shm).
bool is_sticky(const std::string& folder) {
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 && (status.st_mode & S_ISVTX) != 0;
}

/// True if an open that mustn't wait for a pipe failed because another program has a lease on a
/// regular file, as file servers do for their clients. An open that waits gets the file when the
/// lease is given up, within 45 seconds. (Nobody waits so for what others may have planted.)
bool is_leased(int error_number, int flags) {
  return error_number == EWOULDBLOCK && (flags & O_NONBLOCK) != 0 && (flags & O_NOFOLLOW) == 0;
}

Error planted(const std::string& path, std::string_view what) {
  return Error(ErrorCode::failed_precondition,
               fmt::format("'{}' is {}, but should be a file of this program's own; nothing was "
                           "written; remove it if you don't know it",
                           path, what));
}

}  // namespace

File File::open(const std::string& path, int flags, std::string reported) {
  if (reported.empty()) reported = path;
  while (true) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (descriptor >= 0) return {descriptor, std::move(reported)};
    if (is_leased(errno, flags)) {
      flags &= ~O_NONBLOCK;
    } else if (errno != EINTR) {
      break;
    }
  }
  const bool is_for_reading = (flags & O_ACCMODE) == O_RDONLY;
  const bool may_create = (flags & O_CREAT) != 0;
  const char* const action = is_for_reading ? "open" : may_create ? "create" : "write";
  throw system_error(action, reported, errno);
}

File File::open_own(const std::string& path, int flags, std::string reported) {
  if (reported.empty()) reported = path;
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    throw planted(path, "a symbolic link").at_file(reported);
  }
  // The check above is only for the message. The open is what can't be led astray: a link that
  // comes in between is ELOOP, and a pipe doesn't block.
  File file = open(path, flags | O_NOFOLLOW | O_NONBLOCK, reported);
  if (::fstat(file.descriptor_, &status) != 0) throw system_error("examine", reported, errno);
  if (!S_ISREG(status.st_mode)) throw planted(path, "no regular file").at_file(reported);
  if (status.st_nlink > 1) {
    throw planted(path, "another name of a file that has several").at_file(reported);
  }
  if (status.st_uid != ::geteuid() && is_sticky(folder_of(path))) {
    throw planted(path, "another user's file in a folder where anybody may write")
        .at_file(reported);
  }
  return file;
}

std::optional<File> File::open_locked(const std::string& path, int flags,
                                      const std::string& reported) {
  while (true) {
    File file = open_own(path, flags, reported);
    if (::flock(file.descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::nullopt;
      throw system_error("lock", file.name_, errno);
    }
    struct stat opened {};
    struct stat named {};
    if (::fstat(file.descriptor_, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
        opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) {
      return file;
    }
  }
}

File File::open_to_read(const std::string& name) {
  // A pipe doesn't keep the open waiting, and reading a regular file ignores the flag.
  File file = open(name, O_RDONLY | O_NONBLOCK);
  const mode_t mode = examine(file).st_mode;
  if (S_ISDIR(mode)) throw system_error("read", name, EISDIR);
  if (S_ISREG(mode)) return file;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("this is no regular file ({}), which is not read here", kind_of(mode)))
      .at_file(name);
}

File File::open_stream(const std::string& name) {
  // The open of a pipe would wait for a writer, and nothing could end that.
  File file = open(name, O_RDONLY | O_NONBLOCK);
  const struct stat status = examine(file);
  const mode_t mode = status.st_mode;
  if (S_ISDIR(mode)) throw system_error("read", name, EISDIR);
  // A pipe that is opened anew waits for another writer if the one of the standard input has ended.
  if (S_ISFIFO(mode) && is_standard_input(status)) {
    const int descriptor = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (descriptor >= 0) return {descriptor, name};
  }
  // A device that can't be polled, as /dev/hwrng, would be asked again and again.
  if (!S_ISREG(mode) && !S_ISFIFO(mode)) detail::let_calls_wait(file);
  return file;
}

std::optional<std::uint64_t> File::size_bytes() const {
  const struct stat status = examine(*this);
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t File::read_at(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const std::size_t got = read_before_error(offset + done, into.subspan(done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::size_t File::read_before_error(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(descriptor_, into.data() + done, into.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && done == 0) throw system_error("read", name_, errno).at_offset(offset);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::size_t File::read_some(std::span<char> into, const std::stop_token& stop) const {
  while (true) {
    wait_until_readable(*this, stop);
    const ssize_t got = ::read(descriptor_, into.data(), into.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR && errno != EAGAIN) throw system_error("read", name_, errno);
  }
}

void File::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = detail::write_once(descriptor_, bytes);
    if (written < 0) throw system_error("write", name_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void File::sync() {
  if (::fsync(descriptor_) != 0) throw system_error("sync", name_, errno);
}

namespace {

/// Refuses a file of a few bytes on the disk that claims a large size: its zeros would take memory.
void require_not_sparse(const File& file, std::uint64_t size) {
  if (size <= limits::sparse_file_bytes) return;
  const off_t hole = ::lseek(file.descriptor(), 0, SEEK_HOLE);
  // A system that doesn't report holes says that the first is at the end.
  if (hole < 0 || static_cast<std::uint64_t>(hole) >= size) return;
  throw Error(
      ErrorCode::data_loss,
      fmt::format("the file claims {} bytes, but was written up to byte {} only; files with "
                  "holes are read whole up to {} MiB; take it from a copy",
                  size, hole, limits::sparse_file_bytes >> 20U))
      .at_file(file.name());
}

std::string read_url(const std::string& url, const std::stop_token& stop) {
  const auto in = detail::open_input_file(url, {.stop = stop});
  const std::uint64_t size = in->size_bytes().value_or(0);
  std::string whole;
  while (whole.size() < size) {
    const std::size_t begin = whole.size();
    whole.resize(begin + static_cast<std::size_t>(
                             std::min<std::uint64_t>(limits::url_step_bytes, size - begin)));
    const std::size_t got = in->read_at(begin, std::span(whole).subspan(begin));
    whole.resize(begin + got);
    if (got == 0) break;
  }
  return whole;
}

std::string read_to_end(const File& in, const std::stop_token& stop) {
  std::string bytes;
  if (const auto size = in.size_bytes()) {
    require_not_sparse(in, *size);
    bytes.resize(*size);
    bytes.resize(in.read_at(0, bytes));
    return bytes;
  }
  std::array<char, 4096> step{};
  while (const std::size_t got = in.read_some(step, stop)) {
    bytes.append(step.data(), got);
    if (bytes.size() > kDeviceBytesMax && is_device(in)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("this is a device, which gave {} MiB and goes on; name a file",
                              kDeviceBytesMax >> 20U))
          .at_file(in.name());
    }
  }
  return bytes;
}

}  // namespace

std::string read_file(const std::string& file) {
  return is_url(file) ? read_url(file, {}) : read_to_end(File::open_to_read(file), {});
}

std::string read_file(const File& file) { return read_to_end(file, {}); }

std::string read_stream(const std::string& file, const std::stop_token& stop) {
  return is_url(file) ? read_url(file, stop) : read_to_end(File::open_stream(file), stop);
}

std::string folder_of(const std::string& file) {
  if (is_url(file)) {  // a slash in its query separates no folders
    const std::size_t end = file.starts_with("s3:") ? file.npos : file.find_first_of("?#");
    return file.substr(0, std::string_view(file).substr(0, end).rfind('/'));
  }
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

void make_folder(const std::string& folder) {
  detail::require_no_url(folder, "folder");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw system_error("make the folder", folder, error.value());
}

void sync_folder(const std::string& folder) {
  const File opened = File::open(folder, O_RDONLY | O_DIRECTORY);
  // Some file systems know no such call for a folder (VirtualBox's shared folders, 9p): EINVAL.
  if (::fsync(opened.descriptor()) != 0 && errno != EINVAL)
    throw system_error("sync", folder, errno);
}

}  // namespace infeed
