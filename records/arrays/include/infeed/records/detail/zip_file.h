#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/seekable_file.h"

/// Why: NumPy's .npz files are zip files, whose arrays are read at any place. Members are stored or
/// deflated; other methods and encryption are refused. ZIP64 is read.
///
/// No claim of the file is believed: places must lie inside it and apart from each other, and sizes
/// are compared with the bytes that are there. All members together have at most
/// limits::deflate_bytes_of_byte times the bytes of the file. Not meant to be used directly.
namespace infeed::detail {

/// A range of a file's bytes.
struct FilePart {
  std::shared_ptr<const SeekableFile> file;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// Finds and opens members. Thread-safety: as const, any number of threads at once.
class ZipFile {
 public:
  /// Reads the directory. Throws data_loss if the file is no zip file, damaged or cut.
  explicit ZipFile(std::shared_ptr<const SeekableFile> file);

  struct Member {
    std::string name;
    std::uint16_t method = 0;
    bool is_encrypted = false;
    std::uint32_t crc = 0;
    std::uint64_t packed_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t header = 0;  ///< where its local header begins
  };
  /// Members without folders.
  const std::vector<Member>& members() const { return members_; }

  enum class Check : std::uint8_t {
    crc,      ///< reads the whole member once
    nothing,  ///< skips the check of a stored member; a deflated one is always checked
  };
  /// Returns a member's content: a stored member's place in the zip file, or a deflated member's
  /// decompressed copy without a name (seekable_file.h). Throws data_loss, and invalid_argument for
  /// an unknown method.
  FilePart open(const Member& member, Check check = Check::crc) const;
  /// Returns the first bytes of the content, at most `bytes_max`, unchecked.
  std::string read_front(const Member& member, std::size_t bytes_max) const;

 private:
  struct Directory {
    std::uint64_t begin;
    std::uint64_t bytes;
    std::uint64_t entries;
  };
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  void require_apart() const;
  FilePart packed_part(const Member& member) const;
  [[noreturn]] void refuse(std::string_view reason, std::uint64_t offset) const;
  [[noreturn]] void fail(const Member& member, std::string_view reason) const;

  const std::shared_ptr<const SeekableFile> file_;
  std::vector<Member> members_;
};

}  // namespace infeed::detail
