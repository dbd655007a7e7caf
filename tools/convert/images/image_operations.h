#pragma once

#include <cstddef>

#include "convert/images/image_decoder.h"

/// What makes decoded images alike.
namespace infeed::tools {

/// Upright, by Exif's orientation 1 to 8.
DecodedImage turn_upright(DecodedImage image, int orientation);

/// To 1, 3 or 4 channels: grey is a weighted sum (0.299 R, 0.587 G, 0.114 B), alpha is dropped, and
/// where it is new, opaque.
DecodedImage with_channels(DecodedImage image, std::size_t channels);

/// Stretched to that size. Each pixel is a weighted mean of the pixels it covers, so that nothing
/// flickers when an image gets smaller, as Pillow's BILINEAR does it; each channel for itself.
DecodedImage resize(DecodedImage image, std::size_t width, std::size_t height);

}  // namespace infeed::tools
