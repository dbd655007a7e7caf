#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
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
/// resource_exhausted (disk or quota full, the file larger than `ulimit -f` allows, too many open),
/// data_loss (the device fails), unavailable.
namespace infeed {

/// Returns "cannot ACTION: no such file; ..." with the code that fits `error_number`.
Error system_error(std::string_view action, const std::string& file, int error_number);

/// An owned file descriptor. Thread-safety: read_at() by any threads at once, the rest by one.
class File {
 public:
  File() = default;
  File(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  /// Opens `path` with `flags` as for open(2). Errors name `reported`, or `path` where it is empty.
  static File open(const std::string& path, int flags, std::string reported = {});
  /// Opens a file whose name we derive ourselves and others may guess, in a folder that came from
  /// elsewhere. It must be a regular file with no other name. A symbolic or hard link is an Error
  /// failed_precondition, and the file that it leads to stays as it is.
  static File open_own(const std::string& path, int flags, std::string reported = {});
  /// Opens as open_own() does and locks the file (flock) until the File goes. Empty when somebody
  /// else has the lock. The locked file is the one that has the name now, even if an earlier owner
  /// renamed or removed another.
  static std::optional<File> open_locked(const std::string& path, int flags,
                                         const std::string& reported = {});
  /// Opens a regular file for reading. Anything else (a folder, pipe, socket or device) is an Error
  /// invalid_argument at once: nobody waits for a pipe's other end. For files that we find
  /// ourselves (manifests, journals, indexes, checkpoints) and files that are read at any place.
  static File open_to_read(const std::string& name);
  /// Opens what a user names to be read from its front: a file, a device, or a pipe, whose writer
  /// read_some() waits for.
  static File open_stream(const std::string& name);

  int descriptor() const { return descriptor_; }
  const std::string& name() const { return name_; }
  bool is_open() const { return descriptor_ >= 0; }
  /// Size of a regular file; empty for a pipe or device.
  std::optional<std::uint64_t> size_bytes() const;
  /// Reads until `into` is full or the file ends: fewer bytes mean its end. Throws Error.
  std::size_t read_at(std::uint64_t offset, std::span<char> into) const;
  /// Does the same, but gives the bytes before an error, which the next call throws if it is still
  /// there. For readers that hand out what lies before a bad sector; fewer bytes are no end.
  std::size_t read_before_error(std::uint64_t offset, std::span<char> into) const;
  /// Reads the bytes at hand, at least one, from a pipe. Returns 0 at the end. Throws Error cancelled
  /// within a twentieth of a second of a stop request.
  std::size_t read_some(std::span<char> into, const std::stop_token& stop = {}) const;
  /// Writes all bytes. A file that grows beyond `ulimit -f` is an Error, also in a program that
  /// would be ended by SIGXFSZ otherwise: the calling thread doesn't get the signal meanwhile.
  void write(std::string_view bytes);
  /// Returns when the bytes are on the disk. A failed sync is final: bytes written since the sync
  /// before may be lost, and trying again proves nothing.
  void sync();
  void close() noexcept;

 private:
  int descriptor_ = -1;
  std::string name_;
};

/// Reads a whole regular file, by path or URL. Throws data_loss for a large file with holes
/// (limits.h).
std::string read_file(const std::string& file);
std::string read_file(const File& file);
/// Reads a file that a user names in the same way. It may also be a pipe or a device, as
/// /dev/stdin; a device gives 64 MiB at most. A stop request ends waiting for a pipe or a server
/// (cancelled).
std::string read_stream(const std::string& file, const std::stop_token& stop = {});

/// Returns the folder of `file`; "." for a bare name.
std::string folder_of(const std::string& file);

/// Makes the folder, and those above it, where they don't exist.
void make_folder(const std::string& folder);

/// Makes files that were created, renamed or removed in `folder` last through a power cut.
void sync_folder(const std::string& folder);

}  // namespace infeed
