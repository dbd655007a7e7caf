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

/// Decodes one PNG after the other. Not for several threads at once. Everything it throws is an
/// Error as decode.h says.
class PngReader {
 public:
  /// Checks the limits. `bytes` must live until the last read().
  void open(std::string_view bytes, const ImageHeader& header, const DecodeLimits& limits);

  std::uint64_t memory_bytes() const;  ///< what grows with the image

  /// The rows of `part` with the channels that the header says. Rows behind them aren't looked at,
  /// but where `part` is the whole image, to its end.
  void read(const Rect& part, RowSink& sink);

  /// Forgets what is more than that.
  void trim(std::size_t bytes_max);

 private:
  std::string_view bytes_;
  ImageHeader header_;
  std::vector<std::uint8_t> rows_;  ///< of an interlaced image all, else one
};

}  // namespace infeed::image
