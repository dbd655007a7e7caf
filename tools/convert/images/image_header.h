#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

/// Why: what all images of a dataset have in common must be known before the first one is written,
/// and an image's header says it in a few reads, without the pixels.
namespace infeed::tools {

enum class ImageFormat { unknown, jpeg, png, gif, bmp, webp };

/// By its first bytes.
ImageFormat image_format(std::string_view bytes);

/// "jpg", "png"... in any case, without the dot: whether a file of that ending is an image.
bool is_image_extension(std::string_view extension);

struct ImageHeader {
  ImageFormat format = ImageFormat::unknown;
  // Of JPEG and PNG; 0 when the header is damaged.
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t channels = 0;  ///< of the decoded image: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
  std::size_t bits = 8;      ///< of a channel
  bool is_cmyk = false;
  /// As Exif counts: 1 is upright, 5 to 8 lie on a side. Of JPEG only.
  int orientation = 1;
};

/// Fills `into` from `offset` on; fewer bytes only where the image ends.
using ReadAt = std::function<std::size_t(std::uint64_t offset, std::span<char> into)>;

/// Never throws but what `read_at` does: a header that makes no sense has no size.
ImageHeader read_image_header(const ReadAt& read_at);
ImageHeader read_image_header(std::string_view bytes);

}  // namespace infeed::tools
