#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Why: what the commands do with files outside records/, in one place: system calls that are
/// repeated after a signal, continued after a short write, and explained when they fail.
///
/// Errors: infeed::Error with the file: not_found, permission_denied, invalid_argument (a folder),
/// resource_exhausted (disk or quota full), data_loss (the device fails), unavailable.
namespace infeed::tools {

/// Throws the Error for `error_number`. `action` completes "cannot ...".
[[noreturn]] void throw_system_error(std::string_view action, const std::string& file,
                                     int error_number);

/// An open file. Thread-safety: read_at() by any threads at once, the rest by one.
class OpenFile {
 public:
  /// `flags` as for open(2). Errors name `reported`, which is `file` unless it is given.
  OpenFile(const std::string& file, int flags, std::string reported = {});
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile();

  int descriptor() const { return descriptor_; }
  std::uint64_t size_bytes() const;
  /// Fills `into`; fewer bytes only where the file ends.
  std::size_t read_at(std::uint64_t offset, std::span<char> into) const;
  void write(std::string_view bytes);
  /// Returns when the bytes are on the disk. A sync that failed is final: what was written since
  /// the one before may be lost, and trying again proves nothing.
  void sync();

 private:
  std::string reported_;
  int descriptor_;
};

/// By path or URL.
std::string read_file(const std::string& file);

/// The folder that `file` lies in; "." for a bare name.
std::string folder_of(const std::string& file);

/// Makes what was created, renamed or removed in `folder` last through a power cut.
void sync_folder(const std::string& folder);

struct FileSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const FileSum&) const = default;
};

/// Size and CRC-32C of a whole file (by path or URL), in steps of a MiB.
FileSum sum_file(const std::string& file);

}  // namespace infeed::tools
