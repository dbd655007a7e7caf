#pragma once

#include <cstdint>

#include <infeed/image/decode.h>
#include <infeed/image/image.h>

namespace infeed::image {

// An image beyond a limit isn't resource_exhausted: that says that the run has no room, and would
// end a conversion, which leaves out bad images.

/// Throws invalid_argument if a header claims no pixels, or more than the limit.
void require_pixels(Size size, const DecodeLimits& limits);

/// Throws invalid_argument if the bytes exceed the limit.
void require_memory(std::uint64_t bytes, const DecodeLimits& limits);

/// Throws invalid_argument if the image has other pixels than its size and 1 to 4 channels make.
void require_whole(const Image& image);

/// Throws invalid_argument if the crop is empty or leaves an image of that size.
void require_inside(const Rect& crop, Size size);

constexpr std::uint8_t grey_of(const std::uint8_t* rgb) {
  constexpr std::uint32_t kRed = 19'595;  // 0.299 * 2^16
  constexpr std::uint32_t kGreen = 38'470;
  constexpr std::uint32_t kBlue = 7'471;
  constexpr std::uint32_t kHalf = 1U << 15;
  return static_cast<std::uint8_t>((kRed * rgb[0] + kGreen * rgb[1] + kBlue * rgb[2] + kHalf) >>
                                   16);
}

}  // namespace infeed::image
