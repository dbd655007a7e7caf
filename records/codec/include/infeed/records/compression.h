#pragma once

#include <string_view>

/// How the bytes of a whole record file are wrapped. The reader recognises all of them by content;
/// a file's name says nothing about it.
namespace infeed {

enum class Compression {
  automatic,  ///< reading only: look at the first bytes
  none,
  gzip,
  zlib,
  lz4,   ///< independent blocks at borders of records, with an index (records/lz4_format.md)
  zstd,  ///< reading only: one or several frames
};

/// "gzip"; "plain" for none.
std::string_view to_string(Compression compression);

}  // namespace infeed
