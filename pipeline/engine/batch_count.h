#pragma once

#include <cstdint>

namespace infeed::detail {

/// Returns how many batches of `size` the rows make.
inline std::uint64_t batch_count(std::uint64_t rows, std::uint64_t size, bool drop_remainder) {
  return rows / size + (rows % size != 0 && !drop_remainder ? 1 : 0);
}

}  // namespace infeed::detail
