#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/inputs/seekable_file.h"

/// Why: many datasets come as tar files, to be read in place. This finds the members of one.
///
/// POSIX.1-2001: ustar headers of 512 bytes, pax headers for long names and large sizes; GNU's long
/// names and base-256 sizes, too. Only regular files are members; folders and links are passed
/// over.
namespace infeed::tools {

struct TarMember {
  std::string name;
  std::uint64_t offset = 0;  ///< of its content in the file
  std::uint64_t bytes = 0;
};

/// Error data_loss: the file is no tar file, is damaged (a header's checksum) or cut, with offset.
std::vector<TarMember> list_tar(const SeekableFile& file);

}  // namespace infeed::tools
