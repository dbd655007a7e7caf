#pragma once

#include <cstdint>
#include <span>

#include <infeed/image/image.h>

/// Why: a network takes images of one size. Fixed-point arithmetic gives the same bytes on every
/// processor.
///
///     const infeed::image::Image whole = infeed::image::decode(jpegs[0]);
///     const auto small = infeed::image::resize(whole, {.width = 224, .height = 224});
///
/// Errors: invalid_argument for an empty image, or a side of 0 or over 65,536.
/// Thread-safety: functions of their arguments.
namespace infeed::image {

/// The filter of a resize. A pixel's place is its middle, and corners lie on corners.
enum class Filter : std::uint8_t {
  /// Bilinear; if the image shrinks, a triangle as wide as two new pixels, which avoids aliasing:
  /// Pillow's BILINEAR, tf.image.resize(antialias=True).
  antialias,
  /// Two neighbours in each direction, however far the image shrinks: tf.image.resize, OpenCV's
  /// INTER_LINEAR.
  bilinear,
  /// The mean of the pixels under a new pixel: tf.image's AREA, OpenCV's INTER_AREA.
  area,
};

/// Stretches the image to `size`; each channel on its own, alpha too.
Image resize(const Image& image, Size size, Filter filter = Filter::antialias);

/// Resizes into memory of size.height x size.width x channels bytes.
void resize_into(const Image& image, Size size, Filter filter, std::span<std::uint8_t> out);

/// Exchanges left and right.
void flip(Image& image);

/// Turns the image upright by Exif's orientation 1 to 8. Other values change nothing.
void turn_upright(Image& image, int orientation);

/// Converts to 1, 3 or 4 channels. Grey is 0.299 R + 0.587 G + 0.114 B; alpha is dropped, or opaque
/// if it is added.
void convert_channels(Image& image, std::size_t channels);

}  // namespace infeed::image
