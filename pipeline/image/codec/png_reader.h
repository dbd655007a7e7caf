#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <infeed/image/decode.h>
#include <infeed/image/header.h>
#include <infeed/image/image.h>

#include "image/row_sink.h"

namespace infeed::image {

/// Decodes one PNG after the other. Thread-safety: one thread at a time. All exceptions are Errors
/// as in decode.h.
class PngReader {
 public:
  /// Checks the limits. `bytes` must live until the last read().
  void open(std::string_view bytes, const ImageHeader& header, const DecodeLimits& limits);

  std::uint64_t memory_bytes() const;  ///< the part that grows with the image

  /// Reads the rows of `part` with the channels of the header. Rows after it are checked only if
  /// `part` is the whole image.
  void read(const Rect& part, RowSink& sink);

  /// Frees memory beyond `bytes_max`.
  void trim(std::size_t bytes_max);

 private:
  std::string_view bytes_;
  ImageHeader header_;
  std::vector<std::uint8_t> rows_;  ///< all rows of an interlaced image, else one
};

}  // namespace infeed::image
