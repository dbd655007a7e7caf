#include "augment_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace infeed::compare {
namespace {

// Mean and standard deviation of the training images' pixels.
constexpr float kMean = 0.2860F * 255;
constexpr float kDeviation = 0.3530F * 255;
constexpr float kScale = 1 / kDeviation;

/// Rounds to nearest even, as infeed::bfloat16 does.
constexpr std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
constexpr std::uint16_t normalised_bits(int pixel) {
  return bfloat16_bits((static_cast<float>(pixel) - kMean) * kScale);
}
/// Checks that a product, which takes a quarter of a quotient's time, gives the same.
constexpr bool is_same_as_quotient() {
  for (int pixel = 0; pixel < 256; ++pixel) {
    const float quotient = (static_cast<float>(pixel) - kMean) / kDeviation;
    if (normalised_bits(pixel) != bfloat16_bits(quotient)) return false;
  }
  return true;
}
static_assert(is_same_as_quotient());

}  // namespace

void augment_pixels(const std::uint8_t* pixels, const Augmentation& drawn, std::uint16_t* out) {
  // Rows are computed in whole vectors: the next row overwrites the values behind a row's end.
  constexpr int kWide = 32;
  constexpr int kSlack = kWide - kSide;
  constexpr int kPadded = kSide + 2 * kPadding;
  std::uint8_t padded[kSlack + kSide * kPadded + kSlack] = {};
  std::uint16_t last[kWide];
  const int first = std::max(0, -drawn.down);
  const int end = std::min(kSide, kSide - drawn.down);
  for (int y = first; y < end; ++y) {
    std::uint8_t* const row = padded + kSlack + y * kPadded + kPadding;
    std::memcpy(row, pixels + (y + drawn.down) * kSide, kSide);
  }
  for (int y = 0; y < kSide; ++y) {
    const std::uint8_t* const crop = padded + kSlack + y * kPadded + drawn.right;
    std::uint16_t* const to = y + 1 == kSide ? last : out + y * kSide;
    if (drawn.flip) {
      for (int x = 0; x < kWide; ++x) to[x] = normalised_bits(crop[kSide - 1 - x]);
    } else {
      for (int x = 0; x < kWide; ++x) to[x] = normalised_bits(crop[x]);
    }
  }
  std::memcpy(out + kPixels - kSide, last, kSide * sizeof(*out));
}

}  // namespace infeed::compare
