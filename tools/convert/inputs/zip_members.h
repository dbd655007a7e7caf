#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "convert/inputs/seekable_file.h"

/// Why: NumPy's .npz files are zip files, whose arrays are to be read at any place. libzip finds
/// and decompresses the members; this gives them as parts of files, and says in our words what is
/// wrong with them. Members are stored or deflated; other methods and encryption are refused.
namespace infeed::tools {

/// Bytes of a file, from `begin`.
struct FilePart {
  std::shared_ptr<const SeekableFile> file;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// Thread-safety: one thread at a time; what open() gave may be read by any.
class ZipFile {
 public:
  /// Error data_loss: the file is no zip file, is damaged or cut.
  explicit ZipFile(std::shared_ptr<const SeekableFile> file);
  ZipFile(const ZipFile&) = delete;
  ZipFile& operator=(const ZipFile&) = delete;
  ~ZipFile();

  struct Member {
    std::string name;
    std::uint64_t index = 0;  ///< for open()
  };
  /// Without folders.
  std::vector<Member> members() const;

  /// A member's content: of a stored one its place in the zip file, of a deflated one a
  /// decompressed copy without a name (seekable_file.h). Reads it once and compares its CRC-32.
  /// Error data_loss, and invalid_argument for a method that is not known.
  FilePart open(const Member& member) const;

 private:
  class Archive;
  const std::unique_ptr<Archive> archive_;
};

}  // namespace infeed::tools
