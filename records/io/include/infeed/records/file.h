#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "infeed/error.h"

/// Why: system calls on files, in one place: repeated after a signal, continued after a short read
/// or write, and explained to people when they fail.
///
///     const infeed::File file = infeed::File::open("table.bin", O_RDONLY);
///     const std::size_t got = file.read_at(4096, buffer);
///
/// Errors: infeed::Error with the file: not_found, permission_denied, invalid_argument (a folder),
/// resource_exhausted (disk or quota full, too many open), data_loss (the device fails),
/// unavailable.
namespace infeed {

/// "cannot open: no such file; ..." with the code that fits `error_number`. `action` completes
/// "cannot ...".
Error system_error(std::string_view action, const std::string& file, int error_number);

/// An owned file descriptor. Thread-safety: read_at() by any threads at once, the rest by one.
class File {
 public:
  File() = default;
  File(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  /// `flags` as for open(2). Errors name `reported`, which is `path` unless it is given.
  static File open(const std::string& path, int flags, std::string reported = {});
  /// For a name that we derive ourselves and others may guess, in a folder that came from elsewhere:
  /// what lies there must be a regular file with no other name. A link, symbolic or hard, is Error
  /// failed_precondition, and what it leads to stays as it is.
  static File open_own(const std::string& path, int flags, std::string reported = {});
  /// open_own(), and locks it (flock) until the File goes; nothing when somebody else has the lock.
  /// The file is the one that has the name now: an owner before may have renamed or removed another.
  static std::optional<File> open_locked(const std::string& path, int flags,
                                         const std::string& reported = {});
  /// Refuses folders.
  static File open_to_read(const std::string& name);

  int descriptor() const { return descriptor_; }
  const std::string& name() const { return name_; }
  bool is_open() const { return descriptor_ >= 0; }
  /// The size of a regular file; a pipe or device has none.
  std::optional<std::uint64_t> size_bytes() const;
  /// Reads until `into` is full, the file ends, or an error follows what was read; 0 is the end.
  std::size_t read_at(std::uint64_t offset, std::span<char> into) const;
  /// What is at hand, at least a byte; 0 is the end. For pipes.
  std::size_t read_some(std::span<char> into) const;
  void write(std::string_view bytes);
  /// Returns when the bytes are on the disk. A sync that failed is final: what was written since
  /// the one before may be lost, and trying again proves nothing.
  void sync();
  void close() noexcept;

 private:
  int descriptor_ = -1;
  std::string name_;
};

/// All of a file or pipe, by path or URL. data_loss for a large one with holes (limits.h).
std::string read_file(const std::string& file);
std::string read_file(const File& file);

/// The folder that `file` lies in; "." for a bare name.
std::string folder_of(const std::string& file);

/// Makes the folder, and those above it, where they aren't there.
void make_folder(const std::string& folder);

/// Makes what was created, renamed or removed in `folder` last through a power cut.
void sync_folder(const std::string& folder);

}  // namespace infeed
