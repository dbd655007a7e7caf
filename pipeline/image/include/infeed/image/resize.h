#pragma once

#include <cstdint>
#include <span>

#include <infeed/image/image.h>

/// Why: a network takes images of one size. In fixed-point arithmetic throughout, so that every
/// processor gives the same bytes.
///
///     const infeed::image::Image whole = infeed::image::decode(jpegs[0]);
///     const auto small = infeed::image::resize(whole, {.width = 224, .height = 224});
///
/// Errors: invalid_argument for an empty image, or a side of 0 or over 65,536.
/// Thread-safety: functions of their arguments.
namespace infeed::image {

/// A pixel's place is its middle: corners lie on corners.
enum class Filter : std::uint8_t {
  /// Bilinear; where the image shrinks, a triangle as wide as two new pixels, so that nothing
  /// flickers: Pillow's BILINEAR, tf.image.resize(antialias=True).
  antialias,
  /// Of two neighbours each way, whatever lies between: tf.image.resize, OpenCV's INTER_LINEAR.
  bilinear,
  /// The mean of what a new pixel covers: tf.image's AREA, OpenCV's INTER_AREA.
  area,
};

/// Stretched to `size`; each channel for itself, alpha too.
Image resize(const Image& image, Size size, Filter filter = Filter::antialias);

/// The same into memory of size.height x size.width x channels bytes.
void resize_into(const Image& image, Size size, Filter filter, std::span<std::uint8_t> out);

/// Left and right exchanged.
void flip(Image& image);

/// Upright, by Exif's orientation 1 to 8; 1 and what is none of these leave it as it is.
void turn_upright(Image& image, int orientation);

/// To 1, 3 or 4 channels: grey is 0.299 R + 0.587 G + 0.114 B, alpha is dropped, and where it is
/// new, opaque.
void convert_channels(Image& image, std::size_t channels);

}  // namespace infeed::image
