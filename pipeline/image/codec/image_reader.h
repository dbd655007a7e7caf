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

/// Rows of a JPEG or PNG, as they lie in the file, in the channels that are asked for. Not for
/// several threads at once; errors as decode.h says.
class ImageReader {
 public:
  /// `bytes` must live until the last read().
  void open(std::string_view bytes, const DecodeLimits& limits, bool refuse_damaged);

  const ImageHeader& header() const { return header_; }
  Size size() const { return {header_.width, header_.height}; }
  bool is_jpeg() const { return header_.format == ImageFormat::jpeg; }
  /// What the decoder takes that grows with the image.
  std::uint64_t memory_bytes() const;

  /// `part` is one of the image at 1/denominator of its size, which is 1 but for a JPEG. `channels`
  /// are those of the file, or 1, 3 or 4.
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
