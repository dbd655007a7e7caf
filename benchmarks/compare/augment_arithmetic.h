#pragma once

#include <cstdint>

/// The arithmetic of an image's augmentation, in a separate file that is compiled for the machine
/// on which it runs, as a user's own code would be, and as the peer's kernels are.
namespace infeed::compare {

inline constexpr int kSide = 28;
inline constexpr int kPixels = kSide * kSide;
inline constexpr std::uint32_t kPadding = 4;

/// The random numbers of an image.
struct Augmentation {
  int down = 0;             ///< -kPadding to kPadding
  std::uint32_t right = 0;  ///< 0 to 2 * kPadding
  bool flip = false;
};

/// Pads by kPadding black pixels, crops, flips and normalises kPixels to as many bfloat16 values.
void augment_pixels(const std::uint8_t* pixels, const Augmentation& drawn, std::uint16_t* out);

}  // namespace infeed::compare
