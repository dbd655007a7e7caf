#include "augment_arithmetic.h"

#include <bit>
#include <cstring>

namespace infeed::compare {
namespace {

// Mean and standard deviation of the training images' pixels.
constexpr float kMean = 0.2860F * 255;
constexpr float kDeviation = 0.3530F * 255;

/// Rounds to nearest even, as infeed::bfloat16 does.
inline std::uint16_t normalised_bits(std::uint8_t pixel) {
  const auto bits = std::bit_cast<std::uint32_t>((static_cast<float>(pixel) - kMean) / kDeviation);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

void augment_pixels(const std::uint8_t* pixels, const Augmentation& drawn, std::uint16_t* out) {
  // Rows are worked on in whole vectors: what is behind a row's end is written over by the next.
  constexpr int kWide = 32;
  constexpr int kSlack = kWide - kSide;
  std::uint8_t row[kSlack + kSide + 2 * kPadding + kSlack] = {};
  std::uint16_t wide[kPixels + kSlack];
  std::uint8_t* const padded = row + kSlack;
  for (int y = 0; y < kSide; ++y) {
    const int from = y + drawn.down;
    if (from >= 0 && from < kSide) {
      std::memcpy(padded + kPadding, pixels + from * kSide, kSide);
    } else {
      std::memset(padded + kPadding, 0, kSide);
    }
    const std::uint8_t* const crop = padded + drawn.right;
    std::uint16_t* const to = wide + y * kSide;
    if (drawn.flip) {
      for (int x = 0; x < kWide; ++x) to[x] = normalised_bits(crop[kSide - 1 - x]);
    } else {
      for (int x = 0; x < kWide; ++x) to[x] = normalised_bits(crop[x]);
    }
  }
  std::memcpy(out, wide, kPixels * sizeof(*out));
}

}  // namespace infeed::compare
