#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include <infeed/image/image.h>

/// Why: the size of an image must often be known before it is decoded: to draw a crop, to refuse
/// large images, to find a dataset's common shape. A few reads of its header give it.
///
///     const infeed::image::ImageHeader header = infeed::image::read_header(jpegs[0]);
///     if (header.channels == 3 && header.width > 64) ...
///
/// Only a ReadAt can throw. Thread-safety: functions of their arguments.
namespace infeed::image {

/// Only JPEG and PNG can be decoded.
enum class ImageFormat { unknown, jpeg, png, gif, bmp, webp };

/// Returns the format by the image's first bytes; 12 are enough.
ImageFormat format_of(std::string_view bytes);

/// Returns true if files of this extension are images: "jpg", "png"... in any case, without the
/// dot.
bool is_image_extension(std::string_view extension);

struct ImageHeader {
  ImageFormat format = ImageFormat::unknown;
  // The rest is for JPEG and PNG only; the numbers are 0 if the header is damaged.
  std::size_t width = 0;     ///< as in the file
  std::size_t height = 0;    ///< as in the file
  std::size_t channels = 0;  ///< decoded channels: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
  std::size_t bits = 8;      ///< per channel in the file, or 8 if fewer; decoded images have 8
  bool is_cmyk = false;
  bool is_progressive = false;  ///< JPEG; for PNG: interlaced. Both are decoded as a whole
  /// The Exif number: 1 is upright, 5 to 8 lie on a side.
  int orientation = 1;

  /// Returns the size of the upright image.
  Size upright_size() const { return orientation >= 5 ? Size{height, width} : Size{width, height}; }
};

/// Reads the header. The size is 0 if the header makes no sense.
ImageHeader read_header(std::string_view bytes);

/// Fills `into` from `offset` on; with fewer bytes only at the image's end. Returns how many.
using ReadAt = std::function<std::size_t(std::uint64_t offset, std::span<char> into)>;

/// Reads the header of an image that isn't in memory, with a few small reads.
ImageHeader read_header(const ReadAt& read_at);

}  // namespace infeed::image
