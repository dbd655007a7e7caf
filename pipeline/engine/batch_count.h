#pragma once

#include <cstdint>

namespace infeed::detail {

/// How many batches so many rows make.
inline std::uint64_t batch_count(std::uint64_t rows, std::uint64_t size, bool drop_remainder) {
  return rows / size + (rows % size != 0 && !drop_remainder ? 1 : 0);
}

/// Of a batch of `size` rows of `input`.
inline TracedPlace trace_rows(const Stage& input, std::uint64_t batch, std::uint64_t size) {
  TracedPlace traced = input.trace(batch * size);
  if (traced.place) traced.place->count = size;
  return traced;
}

}  // namespace infeed::detail
