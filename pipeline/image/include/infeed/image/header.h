#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include <infeed/image/image.h>

/// Why: what an image will be must often be known before it is decoded (to draw a crop, to refuse
/// what is too large, to find a dataset's common shape), and a few reads of its header say it.
///
///     const infeed::image::ImageHeader header = infeed::image::read_header(jpegs[0]);
///     if (header.channels == 3 && header.width > 64) ...
///
/// Nothing here throws but what a ReadAt throws. Thread-safety: functions of their arguments.
namespace infeed::image {

/// Only JPEG and PNG can be decoded.
enum class ImageFormat { unknown, jpeg, png, gif, bmp, webp };

/// By its first bytes; 12 are enough.
ImageFormat format_of(std::string_view bytes);

/// "jpg", "png"... in any case, without the dot: whether a file of that ending is an image.
bool is_image_extension(std::string_view extension);

struct ImageHeader {
  ImageFormat format = ImageFormat::unknown;
  // Of JPEG and PNG; 0 when the header is damaged.
  std::size_t width = 0;     ///< as it lies in the file
  std::size_t height = 0;    ///< as it lies in the file
  std::size_t channels = 0;  ///< of the decoded image: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
  std::size_t bits = 8;      ///< of a channel in the file; decoded it has 8
  bool is_cmyk = false;
  bool is_progressive = false;  ///< JPEG; of PNG: interlaced. Both are decoded as a whole
  /// As Exif counts: 1 is upright, 5 to 8 lie on a side. Of JPEG only.
  int orientation = 1;

  /// Of the image when it stands upright.
  Size upright_size() const { return orientation >= 5 ? Size{height, width} : Size{width, height}; }
};

/// A header that makes no sense has no size.
ImageHeader read_header(std::string_view bytes);

/// Fills `into` from `offset` on; fewer bytes only where the image ends.
using ReadAt = std::function<std::size_t(std::uint64_t offset, std::span<char> into)>;

/// The same of an image that lies elsewhere, a few small reads of it.
ImageHeader read_header(const ReadAt& read_at);

}  // namespace infeed::image
