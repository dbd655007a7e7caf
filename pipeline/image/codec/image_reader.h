#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <infeed/image/decode.h>
#include <infeed/image/header.h>

#include "image/codec/jpeg_reader.h"
#include "image/codec/png_reader.h"
#include "image/row_sink.h"

namespace infeed::image {

using Background = std::optional<std::array<std::uint8_t, 3>>;

/// Reads the rows of a JPEG or PNG, in file orientation and in the requested channels.
/// Thread-safety: one thread at a time. Errors are those of decode.h.
class ImageReader {
 public:
  /// `bytes` must live until the last read().
  void open(std::string_view bytes, const DecodeLimits& limits, bool refuse_damaged);

  const ImageHeader& header() const { return header_; }
  Size size() const { return {header_.width, header_.height}; }
  bool is_jpeg() const { return header_.format == ImageFormat::jpeg; }
  /// Returns the decoder's memory that grows with the image.
  std::uint64_t memory_bytes() const;

  /// `part` is a part of the image at 1/denominator of its size; only a JPEG may have a denominator
  /// above 1. `channels` are those of the file, or 1, 3 or 4.
  void read(const Rect& part, unsigned denominator, std::size_t channels,
            const Background& background, RowSink& sink);

  void trim(std::size_t bytes_max);

 private:
  ImageHeader header_;
  JpegReader jpeg_;
  PngReader png_;
  std::vector<std::uint8_t> row_;
};

}  // namespace infeed::image
