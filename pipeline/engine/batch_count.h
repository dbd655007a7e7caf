#pragma once

#include <cstdint>
#include <optional>

namespace infeed::detail {

/// Returns how many batches of `size` the rows make.
inline std::uint64_t batch_count(std::uint64_t rows, std::uint64_t size, bool drop_remainder) {
  return rows / size + (rows % size != 0 && !drop_remainder ? 1 : 0);
}

/// Returns how many rows whole batches of `size` have; nothing if that is more than can be counted.
inline std::optional<std::uint64_t> elements_of_batches(std::uint64_t batches, std::uint64_t size) {
  std::uint64_t rows = 0;
  if (__builtin_mul_overflow(batches, size, &rows)) return std::nullopt;
  return rows;
}

}  // namespace infeed::detail
