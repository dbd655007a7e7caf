#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <infeed/records/bfloat16.h>

#include "image/resample/resize_plan.h"

/// Why: the inner loops of a resize have one form per kind of processor, chosen at run time. All
/// forms give the same bits: they sum integers, or round a floating-point product and a sum
/// separately.
namespace infeed::image {

/// Lines between the two directions have 6 fractional bits.
inline constexpr unsigned kLineBits = 6;

/// Maps a value v to v * scale + offset, for three interleaved channels.
struct ChannelScales {
  static constexpr std::size_t kPeriod = 48;  ///< a multiple of 1 and 3 channels and of all vectors
  alignas(64) std::array<float, kPeriod> scale;
  alignas(64) std::array<float, kPeriod> offset;
};

struct Kernels {
  /// Resizes a row of `channels` channels to plan.outputs pixels of a line, which has room for 16
  /// values more. kRowPadding bytes after the row may be read.
  void (*resize_row)(const std::uint8_t* row, std::size_t channels, const ResizePlan& plan,
                     std::int16_t* line);
  /// Sums `count` values of each of `taps` lines, with weights; `taps` is even. Lines and `out`
  /// have room for kRowPadding bytes more.
  void (*blend_lines)(const std::int16_t* const* lines, const std::int16_t* weights,
                      std::size_t taps, std::size_t count, std::uint8_t* out);
  /// Converts `count` values with interleaved channels.
  void (*to_float)(const std::uint8_t* row, const ChannelScales& scales, std::size_t count,
                   float* out);
  void (*to_bfloat16)(const std::uint8_t* row, const ChannelScales& scales, std::size_t count,
                      bfloat16* out);
};

enum class SimdLevel : std::uint8_t { portable, avx2, avx512 };

/// Returns the levels of this processor, best one last.
std::vector<SimdLevel> simd_levels();
const Kernels& kernels_of(SimdLevel level);
/// Returns the kernels of the best level.
const Kernels& best_kernels();

}  // namespace infeed::image
