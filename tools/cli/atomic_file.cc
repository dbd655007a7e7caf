#include "cli/atomic_file.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <infeed/records/file.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

std::string partial_name(const std::string& file) {
  const fs::path path(file);
  return (path.parent_path() / ("." + path.filename().string() + ".partial")).string();
}

/// A device, a pipe, or /dev/stdout and its like, which are links to what is open already.
bool is_special(const std::string& file) {
  std::error_code ignored;
  if (fs::read_symlink(file, ignored).string().starts_with("/proc/")) return true;
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/// Removes the partial file unless it was renamed.
struct Remover {
  const std::string& file;
  ~Remover() { ::unlink(file.c_str()); }
};

}  // namespace

void check_can_write(const std::string& file) {
  if (fs::is_directory(file)) throw system_error("write", file, EISDIR);
  if (is_special(file)) {
    if (::access(file.c_str(), W_OK) != 0) throw system_error("write", file, errno);
    return;
  }
  const std::string partial = partial_name(file);
  const Remover remover{partial};
  File::open(partial, O_WRONLY | O_CREAT, file);
}

void replace_file(const std::string& file, std::string_view bytes, Durability durability) {
  if (fs::is_directory(file)) throw system_error("write", file, EISDIR);
  if (is_special(file)) {
    File::open(file, O_WRONLY | O_APPEND).write(bytes);
    return;
  }
  const std::string partial = partial_name(file);
  const Remover remover{partial};
  File out = File::open(partial, O_WRONLY | O_CREAT | O_TRUNC, file);
  out.write(bytes);
  if (durability == Durability::synced) out.sync();
  if (::rename(partial.c_str(), file.c_str()) != 0) throw system_error("rename", file, errno);
  if (durability == Durability::synced) sync_folder(folder_of(file));
}

}  // namespace infeed::tools
