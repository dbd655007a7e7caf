#include "image/orientation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <infeed/image/resize.h>

#include "image/requirements.h"

namespace infeed::image {
namespace {

struct Point {
  std::size_t x;
  std::size_t y;
};

/// Returns the place in the stored image (of size `stored`) of a point of the upright image.
Point place_before(Point point, int orientation, Size stored) {
  const auto [x, y] = point;
  const auto [width, height] = stored;
  switch (orientation) {
    case 2:
      return {width - 1 - x, y};
    case 3:
      return {width - 1 - x, height - 1 - y};
    case 4:
      return {x, height - 1 - y};
    case 5:
      return {y, x};
    case 6:
      return {y, height - 1 - x};
    case 7:
      return {width - 1 - y, height - 1 - x};
    case 8:
      return {width - 1 - y, x};
    default:
      return point;
  }
}

}  // namespace

Rect stored_part(const Rect& upright, int orientation, Size stored) {
  const Point one = place_before({upright.left, upright.top}, orientation, stored);
  const Point two = place_before(
      {upright.left + upright.width - 1, upright.top + upright.height - 1}, orientation, stored);
  const auto [left, right] = std::minmax(one.x, two.x);
  const auto [top, bottom] = std::minmax(one.y, two.y);
  return {left, top, right - left + 1, bottom - top + 1};
}

void turn_upright(Image& image, int orientation, Image& spare) {
  if (orientation <= 1 || orientation > 8) return;
  const Size size = upright_size(image.size(), orientation);
  spare.width = size.width;
  spare.height = size.height;
  spare.channels = image.channels;
  spare.pixels.resize(image.pixels.size());
  std::uint8_t* out = spare.pixels.data();
  for (std::size_t y = 0; y < size.height; ++y) {
    for (std::size_t x = 0; x < size.width; ++x) {
      const Point from = place_before({x, y}, orientation, image.size());
      std::memcpy(out, image.row(from.y) + from.x * image.channels, image.channels);
      out += image.channels;
    }
  }
  std::swap(image, spare);
}

void turn_upright(Image& image, int orientation) {
  require_whole(image);
  Image spare;
  turn_upright(image, orientation, spare);
}

void flip(Image& image) {
  require_whole(image);
  for (std::size_t y = 0; y < image.height; ++y) {
    std::uint8_t* left = image.row(y);
    std::uint8_t* right = left + image.row_bytes();
    for (; right - left >= static_cast<std::ptrdiff_t>(2 * image.channels);
         left += image.channels) {
      right -= image.channels;
      std::swap_ranges(left, left + image.channels, right);
    }
  }
}

}  // namespace infeed::image
