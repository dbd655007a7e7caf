#pragma once

#include <array>
#include <cstdint>

#include <infeed/infeed.h>
#include <infeed/pipeline/bfloat16.h>

#include "augment_arithmetic.h"

/// Why: both sides do the same work for each image of Fashion-MNIST; tfdata_images.py does it with
/// tf.image: pad by 4 black pixels, crop at random back to 28 x 28, flip half of them, and
/// normalise to bfloat16.
namespace infeed::compare {

struct Image {
  std::array<std::uint8_t, kPixels> pixels;
  std::int64_t label;
};

struct Example {
  std::array<bfloat16, kPixels> image;
  std::int32_t label;
};

inline ExampleSchema<Image> image_schema() {
  return ExampleSchema<Image>().feature("image", &Image::pixels).feature("label", &Image::label);
}

inline void augment_into(const Image& image, Rng& rng, std::array<bfloat16, kPixels>& out) {
  Augmentation drawn;
  drawn.down = static_cast<int>(rng.below(2 * kPadding + 1)) - static_cast<int>(kPadding);
  drawn.right = rng.below(2 * kPadding + 1);
  drawn.flip = (rng() & 1) != 0;
  static_assert(sizeof(bfloat16) == sizeof(std::uint16_t));
  augment_pixels(image.pixels.data(), drawn, reinterpret_cast<std::uint16_t*>(out.data()));
}

inline Example augment(const Image& image, Rng& rng) {
  Example result;
  result.label = static_cast<std::int32_t>(image.label);
  augment_into(image, rng, result.image);
  return result;
}

}  // namespace infeed::compare
