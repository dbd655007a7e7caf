#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <infeed/image/resize.h>

namespace infeed::image {

/// One direction of a resize: the pixels of a line, and their weights, that make each new pixel.
/// All in integers, so every processor makes the same plan. The plan of a mirrored line is the
/// mirror image, so flipping before and after give the same.
struct ResizePlan {
  static constexpr unsigned kWeightBits = 14;
  static constexpr std::size_t kGroup = 4;  ///< taps that a kernel takes at once

  std::size_t outputs = 0;
  std::size_t groups = 0;             ///< groups of taps per output; surplus taps weigh 0
  std::vector<std::uint32_t> first;   ///< first tap of each output, among the line's pixels
  std::vector<std::uint32_t> last;    ///< last one with a weight
  std::vector<std::int16_t> weights;  ///< groups x outputs x kGroup; those of an output sum to 2^14

  const std::int16_t* weights_of(std::size_t output, std::size_t group) const {
    return weights.data() + (group * outputs + output) * kGroup;
  }
};

/// A line and its part that is resized. The pixels are `pitch` wide (more than 1 if the image was
/// decoded at a fraction of its size). The part [begin, begin + length), in units of whole pixels,
/// becomes `outputs` new ones. Pixel 0 of the line is the one that `begin` lies in.
struct ResizedLine {
  std::size_t begin = 0;
  std::size_t length = 0;
  std::size_t pitch = 1;
  std::size_t outputs = 0;

  std::size_t first_pixel() const { return begin / pitch; }
  std::size_t end_pixel() const { return (begin + length + pitch - 1) / pitch; }
  std::size_t pixels() const { return end_pixel() - first_pixel(); }
};

inline constexpr std::size_t kSideMax = std::size_t{1} << 16;

/// Reuses the memory of `plan`. Sides are 1 to kSideMax.
void plan_resize(const ResizedLine& line, Filter filter, ResizePlan& plan);

/// Puts the outputs in the opposite order.
void mirror(ResizePlan& plan);

}  // namespace infeed::image
