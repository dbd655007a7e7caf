#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include <infeed/infeed.h>
#include <infeed/pipeline/bfloat16.h>

/// Why: the work that both sides do for each image of Fashion-MNIST; tfdata_images.py does the same
/// with tf.image: pad by 4 black pixels, crop at random back to 28 x 28, flip half of them, and
/// normalise to bfloat16.
namespace infeed::compare {

inline constexpr int kSide = 28;
inline constexpr int kPixels = kSide * kSide;
inline constexpr std::uint32_t kPadding = 4;
// Mean and standard deviation of the training images' pixels.
inline constexpr float kMean = 0.2860F * 255;
inline constexpr float kDeviation = 0.3530F * 255;

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

/// A pixel has 256 values, so each is normalised once.
inline const std::array<bfloat16, 256>& normalised_values() {
  static const std::array<bfloat16, 256> values = [] {
    std::array<bfloat16, 256> table;
    for (std::size_t pixel = 0; pixel < table.size(); ++pixel) {
      table[pixel] = bfloat16((static_cast<float>(pixel) - kMean) / kDeviation);
    }
    return table;
  }();
  return values;
}

inline void normalise_row(const std::uint8_t* pixels, bool flip, bfloat16* out) {
  const std::array<bfloat16, 256>& values = normalised_values();
  if (flip) {
    for (int x = 0; x < kSide; ++x) out[x] = values[pixels[kSide - 1 - x]];
  } else {
    for (int x = 0; x < kSide; ++x) out[x] = values[pixels[x]];
  }
}

inline Example augment(const Image& image, Rng& rng) {
  const int down = static_cast<int>(rng.below(2 * kPadding + 1)) - static_cast<int>(kPadding);
  const std::uint32_t right = rng.below(2 * kPadding + 1);
  const bool flip = (rng() & 1) != 0;
  Example result;
  result.label = static_cast<std::int32_t>(image.label);
  std::array<std::uint8_t, kSide + 2 * kPadding> row{};
  for (int y = 0; y < kSide; ++y) {
    const int from = y + down;
    if (from >= 0 && from < kSide) {
      std::memcpy(row.data() + kPadding, image.pixels.data() + from * kSide, kSide);
    } else {
      std::memset(row.data() + kPadding, 0, kSide);
    }
    normalise_row(row.data() + right, flip, result.image.data() + y * kSide);
  }
  return result;
}

}  // namespace infeed::compare
