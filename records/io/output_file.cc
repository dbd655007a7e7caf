#include "infeed/records/output_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/fs.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "infeed/records/crc32c.h"
#include "io/file_calls.h"

namespace infeed {
namespace {

constexpr std::uint64_t kWritebackStepBytes = std::uint64_t{8} << 20;

Error exists_error(const std::string& name) {
  return Error(ErrorCode::already_exists,
               "the file exists already and was left as it is; remove it, choose another name, or "
               "ask for it to be replaced")
      .at_file(name);
}

/// True for a device, a pipe, or /dev/stdout and its like, which are links to open files.
bool is_special(const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::read_symlink(name, ignored).string().starts_with("/proc/")) return true;
  struct stat status {};
  return ::stat(name.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

Error busy_error(const std::string& partial_name, const std::string& name) {
  return Error(ErrorCode::failed_precondition,
               fmt::format("somebody else is writing this file at this moment ('{}' is locked)",
                           partial_name))
      .at_file(name);
}

/// Removes the name of another user's file. Returns false if its owner is writing it, as its lock
/// says. (A file that may not be opened says nothing: its owner can't publish it any more.)
bool remove_unless_locked(const std::string& partial_name) {
  const int descriptor =
      ::open(partial_name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool is_locked =
      descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!is_locked) ::unlink(partial_name.c_str());
  if (descriptor >= 0) ::close(descriptor);
  return !is_locked;
}

/// Removes anything at the partial file's name that isn't ours. Somebody may have put a link or
/// pipe there so that we write elsewhere, or a hard link stands for the finished file
/// (rename_to_name() was killed between two steps). Only the name goes. Another user's file goes as
/// well: its owner may have it open. Returns false if its owner is writing it.
bool remove_what_no_writer_leaves(const std::string& partial_name) {
  struct stat status {};
  if (::lstat(partial_name.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return true;
  const bool is_file = S_ISREG(status.st_mode) && status.st_nlink == 1;
  if (is_file && status.st_uid == ::geteuid()) return true;
  if (is_file) return remove_unless_locked(partial_name);
  ::unlink(partial_name.c_str());
  return true;
}

/// True if `name` stands for another file than the open one: others may remove the name and give it
/// to their own.
bool is_replaced(const File& file, const std::string& name) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.descriptor(), &opened) == 0 && ::lstat(name.c_str(), &named) == 0 &&
         (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino);
}

/// Opens a pipe or device. A pipe that nobody reads is an error, and isn't waited for: anybody may
/// have put it at the name of an index or a manifest.
File open_special(const std::string& name) {
  File file = File::open(name, O_WRONLY | O_APPEND | O_NONBLOCK);
  detail::let_calls_wait(file);
  return file;
}

}  // namespace

OutputFile::OutputFile(std::string name, ExistingFile existing, Durability durability)
    : name_(std::move(name)), existing_(existing), durability_(durability) {
  detail::require_no_url(name_, "file");
  struct stat status {};
  const bool exists = ::stat(name_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) throw system_error("write", name_, EISDIR);
  if (is_special(name_)) {  // it can't be renamed into place
    file_ = open_special(name_);
    is_regular_ = false;
    return;
  }
  if (exists && existing_ == ExistingFile::refuse) throw exists_error(name_);
  open_partial();
}

void OutputFile::open_partial() {
  const std::filesystem::path path(name_);
  partial_name_ = (path.parent_path() / ("." + path.filename().string() + ".partial")).string();
  if (!remove_what_no_writer_leaves(partial_name_)) throw busy_error(partial_name_, name_);
  std::optional<File> file = File::open_locked(partial_name_, O_RDWR | O_CREAT, name_);
  if (!file) throw busy_error(partial_name_, name_);
  file_ = std::move(*file);
  if (::ftruncate(file_.descriptor(), 0) != 0) fail("empty the partial file", errno);
}

void OutputFile::fail(std::string_view action, int error_number) {
  const std::string_view rest = partial_name_.empty() ? "" : "; the unfinished file is removed";
  discard();
  const Error error = system_error(action, name_, error_number);
  throw Error(error.code(),
              fmt::format("{} ({} bytes were written{})", error.message(), bytes_written_, rest))
      .at_file(name_);
}

void OutputFile::write(std::string_view bytes) {
  if (is_summed_) crc32c_ = extend_crc32c(crc32c_, bytes);
  while (!bytes.empty()) {
    const ssize_t done = detail::write_once(file_.descriptor(), bytes);
    if (done < 0) fail("write", errno);
    // A short write is no error. The next write says why, if there is a reason.
    bytes_written_ += static_cast<std::uint64_t>(done);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  if (durability_ == Durability::synced && !partial_name_.empty()) start_writeback();
}

void OutputFile::start_writeback() {
  while (bytes_written_ - bytes_in_writeback_ >= kWritebackStepBytes) {
    // Only a hint: where it is not supported the final sync does all the work.
    (void)::sync_file_range(file_.descriptor(), static_cast<off64_t>(bytes_in_writeback_),
                            static_cast<off64_t>(kWritebackStepBytes), SYNC_FILE_RANGE_WRITE);
    bytes_in_writeback_ += kWritebackStepBytes;
  }
}

void OutputFile::rename_to_name() {
  if (is_replaced(file_, partial_name_)) {  // the rename would publish an unfinished file
    throw Error(ErrorCode::failed_precondition,
                fmt::format("somebody else began to write this file as well ('{}' is another file "
                            "now), so it was not put at its name; let one program at a time write "
                            "it, then write it again",
                            partial_name_))
        .at_file(name_);
  }
  if (existing_ == ExistingFile::replace) {
    if (::rename(partial_name_.c_str(), name_.c_str()) != 0) fail("rename into place", errno);
    return;
  }
  if (::renameat2(AT_FDCWD, partial_name_.c_str(), AT_FDCWD, name_.c_str(), RENAME_NOREPLACE) ==
      0) {
    return;
  }
  if (errno == EEXIST) {
    discard();
    throw exists_error(name_);
  }
  if (errno != EINVAL && errno != ENOSYS) fail("rename into place", errno);
  // The file system has no such rename. A hard link refuses an existing name just as well.
  if (::link(partial_name_.c_str(), name_.c_str()) != 0) {
    if (errno == EEXIST) {
      discard();
      throw exists_error(name_);
    }
    if (::rename(partial_name_.c_str(), name_.c_str()) != 0) fail("rename into place", errno);
    return;
  }
  ::unlink(partial_name_.c_str());
}

void OutputFile::commit() {
  const bool is_synced = durability_ == Durability::synced && !partial_name_.empty();
  // A failed sync is final: the kernel may have dropped the dirty pages, so trying again proves
  // nothing.
  if (is_synced && ::fsync(file_.descriptor()) != 0) fail("sync", errno);
  if (!partial_name_.empty()) {
    rename_to_name();
    partial_name_.clear();
    if (is_synced) sync_folder(folder_of(name_));
  }
  file_.close();
}

void OutputFile::discard() noexcept {
  if (file_.is_open() && !partial_name_.empty() && !is_replaced(file_, partial_name_)) {
    ::unlink(partial_name_.c_str());
  }
  partial_name_.clear();
  file_.close();
}

void check_can_write(const std::string& file) {
  if (!is_special(file)) {
    const OutputFile made_and_discarded(file, ExistingFile::replace, Durability::leave_to_system);
  } else if (::access(file.c_str(), W_OK) != 0) {  // opening a pipe would be seen by its reader
    throw system_error("write", file, errno);
  }
}

void replace_file(const std::string& file, std::string_view bytes, Durability durability) {
  OutputFile out(file, ExistingFile::replace, durability);
  out.write(bytes);
  out.commit();
}

}  // namespace infeed
