#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// Rounds numbers of 64 bits to the nearest float16 or bfloat16.
namespace infeed::detail {

/// Rounds to float32, with a last bit of 1 where anything is lost ("round to odd"). Rounded once more, to
/// 16 bits, it gives the number's own nearest neighbour: the nearest float32 may lie in the middle between
/// two of those, where the number doesn't.
inline float rounded_to_odd(double number) {
  const auto nearest = static_cast<float>(number);
  const auto wide = static_cast<double>(nearest);
  if (wide == number || std::isnan(number)) return nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool is_beyond = std::fabs(wide) > std::fabs(number);
  return std::bit_cast<float>((is_beyond ? bits - 1 : bits) | 1U);
}

template <class Half>
Half nearest_half(double number) {
  return Half(rounded_to_odd(number));
}

}  // namespace infeed::detail
