#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/seekable_file.h"

/// Why: NumPy's .npz files are zip files, whose arrays are to be read at any place. Members are
/// stored or deflated; other methods and encryption are refused. ZIP64 is read.
///
/// Nothing that the file says of itself is believed: places lie inside it, sizes are compared with
/// what is there. Not meant to be used directly.
namespace infeed::detail {

/// Bytes of a file, from `begin`.
struct FilePart {
  std::shared_ptr<const SeekableFile> file;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// Thread-safety: as const, any number of threads at once.
class ZipFile {
 public:
  /// Error data_loss: the file is no zip file, is damaged or cut.
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
  /// Without folders.
  const std::vector<Member>& members() const { return members_; }

  enum class Check : std::uint8_t {
    crc,      ///< reads all of it once
    nothing,  ///< of a stored member; a deflated one is always checked
  };
  /// A member's content: of a stored one its place in the zip file, of a deflated one a
  /// decompressed copy without a name (seekable_file.h). Error data_loss, and invalid_argument for
  /// a method that is not known.
  FilePart open(const Member& member, Check check = Check::crc) const;
  /// The first bytes of its content, at most so many, without their being checked.
  std::string read_front(const Member& member, std::size_t bytes_max) const;

 private:
  struct Directory {
    std::uint64_t begin;
    std::uint64_t bytes;
    std::uint64_t entries;
  };
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  FilePart packed_part(const Member& member) const;
  [[noreturn]] void refuse(std::string_view reason, std::uint64_t offset) const;
  [[noreturn]] void fail(const Member& member, std::string_view reason) const;

  const std::shared_ptr<const SeekableFile> file_;
  std::vector<Member> members_;
};

}  // namespace infeed::detail
