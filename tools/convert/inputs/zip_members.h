#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "convert/inputs/seekable_file.h"

/// Why: NumPy's .npz files are zip files, whose arrays are to be read at any place. This finds the
/// members of one.
///
/// PKWARE's APPNOTE 6.3: the central directory at the end, with ZIP64's larger numbers. Members
/// are stored or deflated; other methods and encryption are refused.
namespace infeed::tools {

struct ZipMember {
  std::string name;
  std::uint64_t offset = 0;  ///< of its local header
  std::uint64_t stored_bytes = 0;
  std::uint64_t bytes = 0;  ///< decompressed
  std::uint32_t crc32 = 0;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
};

/// Without folders. Error data_loss: the file is no zip file, is damaged or cut, with offset.
std::vector<ZipMember> list_zip(const SeekableFile& zip);

/// Bytes of a file, from `begin`.
struct FilePart {
  std::shared_ptr<const SeekableFile> file;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// A member's content: of a stored one its place in the zip file, of a deflated one a decompressed
/// copy without a name (seekable_file.h). Reads it once and compares its CRC-32. Error data_loss,
/// and invalid_argument for a method that is not known.
FilePart open_member(const std::shared_ptr<const SeekableFile>& zip, const ZipMember& member);

}  // namespace infeed::tools
