#include "file_io.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/byte_stream.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/files.h>

namespace infeed::tools {
namespace {

struct Explanation {
  ErrorCode code;
  std::string text;
};

Explanation explain(const std::string& file, int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      if (std::error_code ignored; std::filesystem::is_directory(folder_of(file), ignored)) {
        return {ErrorCode::not_found, "no such file; check the name"};
      }
      return {ErrorCode::not_found, "its folder does not exist; make it first or choose another"};
    case EACCES:
    case EPERM:
    case EROFS:
      return {ErrorCode::permission_denied,
              "permission denied; choose a folder that you may write to, or check the owner"};
    case EISDIR:
      return {ErrorCode::invalid_argument, "it is a folder; give the name of a file"};
    case ENOSPC:
    case EDQUOT:
      return {ErrorCode::resource_exhausted, "the disk is full; free space or choose another disk"};
    case EMFILE:
    case ENFILE:
      return {ErrorCode::resource_exhausted,
              "too many open files; raise the limit (ulimit -n) or use fewer threads"};
    case EIO:
      return {ErrorCode::data_loss,
              "input/output error; the disk or its connection fails, see the system's log"};
    default:
      return {ErrorCode::unavailable, std::generic_category().message(error_number)};
  }
}

std::string read_url(const std::string& url) {
  constexpr std::size_t kStepBytes = std::size_t{64} << 10;
  ByteStream in(url, Compression::none);
  std::string bytes;
  std::size_t got = kStepBytes;
  while (got == kStepBytes) {
    const std::size_t held = bytes.size();
    bytes.resize(held + kStepBytes);
    got = in.read(std::span(bytes).subspan(held));
    bytes.resize(held + got);
  }
  return bytes;
}

}  // namespace

void throw_system_error(std::string_view action, const std::string& file, int error_number) {
  const Explanation explanation = explain(file, error_number);
  throw Error(explanation.code, fmt::format("cannot {}: {}", action, explanation.text))
      .at_file(file);
}

OpenFile::OpenFile(const std::string& file, int flags, std::string reported)
    : reported_(reported.empty() ? file : std::move(reported)), descriptor_(-1) {
  do {
    descriptor_ = ::open(file.c_str(), flags | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EINTR);
  const bool is_for_reading = (flags & O_ACCMODE) == O_RDONLY;
  if (descriptor_ < 0) throw_system_error(is_for_reading ? "open" : "write", reported_, errno);
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : reported_(std::move(other.reported_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t OpenFile::size_bytes() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw_system_error("examine", reported_, errno);
  if (S_ISDIR(status.st_mode)) throw_system_error("read", reported_, EISDIR);
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t OpenFile::read_at(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(descriptor_, into.data() + done, into.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_error("read", reported_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void OpenFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system_error("write", reported_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OpenFile::sync() {
  if (::fsync(descriptor_) != 0) throw_system_error("sync", reported_, errno);
}

std::string read_file(const std::string& file) {
  if (is_url(file)) return read_url(file);
  const OpenFile in(file, O_RDONLY);
  std::string bytes(in.size_bytes(), '\0');
  bytes.resize(in.read_at(0, bytes));
  return bytes;
}

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

void sync_folder(const std::string& folder) { OpenFile(folder, O_RDONLY | O_DIRECTORY).sync(); }

FileSum sum_file(const std::string& file) {
  constexpr std::size_t kStepBytes = std::size_t{1} << 20;
  ByteStream in(file, Compression::none);
  std::vector<char> step(kStepBytes);
  FileSum sum;
  while (const std::size_t got = in.read(step)) {
    sum.crc32c = extend_crc32c(sum.crc32c, {step.data(), got});
    sum.bytes += got;
  }
  return sum;
}

}  // namespace infeed::tools
