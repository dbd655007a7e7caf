#pragma once

#include <cstdint>

namespace infeed::detail {

/// How many batches so many rows make.
inline std::uint64_t batch_count(std::uint64_t rows, std::uint64_t size, bool drop_remainder) {
  return rows / size + (rows % size != 0 && !drop_remainder ? 1 : 0);
}

}  // namespace infeed::detail
