#pragma once

#include <infeed/image/image.h>

namespace infeed::image {

/// Returns true if the image lies on a side: Exif's orientation 5 to 8.
constexpr bool is_sideways(int orientation) { return orientation >= 5 && orientation <= 8; }

constexpr Size upright_size(Size stored, int orientation) {
  return is_sideways(orientation) ? Size{stored.height, stored.width} : stored;
}

/// Returns where a part of the upright image lies in the file's image of size `stored`.
Rect stored_part(const Rect& upright, int orientation, Size stored);

/// Turns the image upright as turn_upright() does, with the memory of `spare`.
void turn_upright(Image& image, int orientation, Image& spare);

}  // namespace infeed::image
