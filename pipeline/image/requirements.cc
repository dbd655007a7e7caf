#include "image/requirements.h"

#include <fmt/format.h>

#include <infeed/error.h>

namespace infeed::image {

void require_pixels(Size size, const DecodeLimits& limits) {
  if (size.width > 0 && size.height > 0 && size.width <= limits.pixels_max / size.height) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the image has {} x {} pixels, but at most {} can be decoded "
                          "(DecodeLimits::pixels_max)",
                          size.width, size.height, limits.pixels_max));
}

void require_memory(std::uint64_t bytes, const DecodeLimits& limits) {
  if (bytes <= limits.memory_bytes_max) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the image takes {} bytes to decode, but at most {} may be used "
                          "(DecodeLimits::memory_bytes_max)",
                          bytes, limits.memory_bytes_max));
}

void require_whole(const Image& image) {
  std::size_t pixels = 0;
  std::size_t bytes = 0;
  const bool is_counted = !__builtin_mul_overflow(image.width, image.height, &pixels) &&
                          !__builtin_mul_overflow(pixels, image.channels, &bytes);
  const bool has_channels = pixels == 0 || (image.channels >= 1 && image.channels <= 4);
  if (is_counted && has_channels && image.pixels.size() == bytes) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("an image of {} x {} with {} channels has {} bytes of pixels, but width x "
                  "height x channels are expected, and 1 to 4 channels",
                  image.width, image.height, image.channels, image.pixels.size()));
}

void require_inside(const Rect& crop, Size size) {
  const bool is_inside = crop.width > 0 && crop.height > 0 && crop.width <= size.width &&
                         crop.height <= size.height && crop.left <= size.width - crop.width &&
                         crop.top <= size.height - crop.height;
  if (is_inside) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the crop of {} x {} at ({}, {}) is no part of an image of {} x {}",
                          crop.width, crop.height, crop.left, crop.top, size.width, size.height));
}

}  // namespace infeed::image
