#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <infeed/records/bfloat16.h>

#include "image/resample/resize_plan.h"

/// Why: the inner loops of a resize, one form for each kind of processor, chosen when the program
/// runs. All forms give the same bits: sums of integers, and of floating point a product and a sum
/// that are each rounded.
namespace infeed::image {

/// Lines between the two directions have 6 bits behind the point.
inline constexpr unsigned kLineBits = 6;

/// A value v becomes v * scale + offset; of three channels that follow each other.
struct ChannelScales {
  static constexpr std::size_t kPeriod = 48;  ///< of 1 and 3 channels and of all vectors
  alignas(64) std::array<float, kPeriod> scale;
  alignas(64) std::array<float, kPeriod> offset;
};

struct Kernels {
  /// A row of `channels` channels to plan.outputs pixels of a line, which has room for 16 values
  /// more. kRowPadding bytes behind the row may be read.
  void (*resize_row)(const std::uint8_t* row, std::size_t channels, const ResizePlan& plan,
                     std::int16_t* line);
  /// `count` values of each line, weighed: `taps` lines, which is even. Lines and `out` have room
  /// for kRowPadding bytes more.
  void (*blend_lines)(const std::int16_t* const* lines, const std::int16_t* weights,
                      std::size_t taps, std::size_t count, std::uint8_t* out);
  /// `count` values whose channels lie beside each other.
  void (*to_float)(const std::uint8_t* row, const ChannelScales& scales, std::size_t count,
                   float* out);
  void (*to_bfloat16)(const std::uint8_t* row, const ChannelScales& scales, std::size_t count,
                      bfloat16* out);
};

enum class SimdLevel : std::uint8_t { portable, avx2, avx512 };

/// The levels that this processor has, the best one last.
std::vector<SimdLevel> simd_levels();
const Kernels& kernels_of(SimdLevel level);
/// Those of the best level.
const Kernels& best_kernels();

}  // namespace infeed::image
