#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <infeed/image/resize.h>

namespace infeed::image {

/// One direction of a resize: of which pixels of a line, and by which weights, each new pixel is
/// made. All in integers, so that every processor plans the same; and of a mirrored line it is the
/// mirror image, so that flipping before is flipping behind.
struct ResizePlan {
  static constexpr unsigned kWeightBits = 14;
  static constexpr std::size_t kGroup = 4;  ///< taps that a kernel takes at once

  std::size_t outputs = 0;
  std::size_t groups = 0;             ///< of taps, of each output; those it has too many weigh 0
  std::vector<std::uint32_t> first;   ///< tap of each output, of the line's pixels
  std::vector<std::uint32_t> last;    ///< that weighs anything
  std::vector<std::int16_t> weights;  ///< groups x outputs x kGroup; of an output they sum to 2^14

  const std::int16_t* weights_of(std::size_t output, std::size_t group) const {
    return weights.data() + (group * outputs + output) * kGroup;
  }
};

/// The line's pixels are `pitch` wide (more than 1 where it was decoded at a fraction of its size),
/// and of them [begin, begin + length), in units of whole pixels, become `outputs` new ones. Pixel 0
/// of the line is the one that `begin` lies in.
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

/// Uses the memory that `plan` has. Sides are 1 to kSideMax.
void plan_resize(const ResizedLine& line, Filter filter, ResizePlan& plan);

/// Outputs in the opposite order.
void mirror(ResizePlan& plan);

}  // namespace infeed::image
