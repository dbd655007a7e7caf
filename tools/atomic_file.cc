#include "atomic_file.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <infeed/error.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

std::string partial_name(const std::string& file) {
  const fs::path path(file);
  return (path.parent_path() / ("." + path.filename().string() + ".partial")).string();
}

struct Explanation {
  ErrorCode code;
  std::string text;
};

Explanation explain(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return {ErrorCode::not_found, "its folder does not exist; make it first or choose another"};
    case EACCES:
    case EPERM:
    case EROFS:
      return {ErrorCode::permission_denied,
              "permission denied; choose a folder that you may write to"};
    case EISDIR:
      return {ErrorCode::invalid_argument, "it is a folder; give the name of a file"};
    case ENOSPC:
    case EDQUOT:
      return {ErrorCode::resource_exhausted, "the disk is full; free space or choose another disk"};
    default:
      return {ErrorCode::unavailable, std::generic_category().message(error_number)};
  }
}

[[noreturn]] void fail(const std::string& file, int error_number) {
  const Explanation explanation = explain(error_number);
  throw Error(explanation.code, fmt::format("cannot write: {}", explanation.text)).at_file(file);
}

class Descriptor {
 public:
  Descriptor(const std::string& file, int flags, const std::string& reported)
      : value_(::open(file.c_str(), flags | O_CLOEXEC, 0666)) {
    if (value_ < 0) fail(reported, errno);
  }
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

bool is_special(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void write_all(int descriptor, std::string_view bytes, const std::string& reported) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(reported, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Removes the partial file unless it was renamed.
struct Remover {
  const std::string& file;
  ~Remover() { ::unlink(file.c_str()); }
};

}  // namespace

void check_can_write(const std::string& file) {
  if (fs::is_directory(file)) fail(file, EISDIR);
  if (is_special(file)) {
    if (::access(file.c_str(), W_OK) != 0) fail(file, errno);
    return;
  }
  const std::string partial = partial_name(file);
  const Remover remover{partial};
  Descriptor(partial, O_WRONLY | O_CREAT, file);
}

void replace_file(const std::string& file, std::string_view bytes) {
  if (fs::is_directory(file)) fail(file, EISDIR);
  if (is_special(file)) {
    const Descriptor out(file, O_WRONLY, file);
    write_all(out.value(), bytes, file);
    return;
  }
  const std::string partial = partial_name(file);
  const Remover remover{partial};
  const Descriptor out(partial, O_WRONLY | O_CREAT | O_TRUNC, file);
  write_all(out.value(), bytes, file);
  if (::fsync(out.value()) != 0) fail(file, errno);
  if (::rename(partial.c_str(), file.c_str()) != 0) fail(file, errno);
}

}  // namespace infeed::tools
