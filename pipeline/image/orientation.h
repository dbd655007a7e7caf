#pragma once

#include <infeed/image/image.h>

namespace infeed::image {

/// By Exif's orientation, 5 to 8: the image lies on a side.
constexpr bool is_sideways(int orientation) { return orientation >= 5 && orientation <= 8; }

constexpr Size upright_size(Size stored, int orientation) {
  return is_sideways(orientation) ? Size{stored.height, stored.width} : stored;
}

/// Where a part of the upright image lies in the file's, which is of size `stored`.
Rect stored_part(const Rect& upright, int orientation, Size stored);

/// turn_upright(), with `spare` for the memory that it takes.
void turn_upright(Image& image, int orientation, Image& spare);

}  // namespace infeed::image
