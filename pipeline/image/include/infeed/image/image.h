#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Why: the functions of infeed::image hand images to each other: pixels of one byte per channel,
/// rows from the top, the channels of a pixel side by side.
///
///     infeed::image::Image grey{.width = 2, .height = 1, .channels = 1, .pixels = {0, 255}};
///     const std::uint8_t right = grey.row(0)[1];
namespace infeed::image {

struct Size {
  std::size_t width = 0;
  std::size_t height = 0;
  bool operator==(const Size&) const = default;
};

/// A part of an image. Its upper left pixel is (left, top).
struct Rect {
  std::size_t left = 0;
  std::size_t top = 0;
  std::size_t width = 0;
  std::size_t height = 0;
  bool operator==(const Rect&) const = default;
};

/// The functions that take one throw invalid_argument if it has other pixels than its size and 1 to 4
/// channels make.
struct Image {
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t channels = 0;          ///< 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  std::vector<std::uint8_t> pixels;  ///< height x width x channels

  Size size() const { return {width, height}; }
  std::size_t row_bytes() const { return width * channels; }
  const std::uint8_t* row(std::size_t y) const { return pixels.data() + y * row_bytes(); }
  std::uint8_t* row(std::size_t y) { return pixels.data() + y * row_bytes(); }
  bool operator==(const Image&) const = default;
};

}  // namespace infeed::image
