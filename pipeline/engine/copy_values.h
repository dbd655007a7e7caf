#pragma once

#include <cstddef>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed::detail {

/// Appends copies of up to `count` neighbours to `out`, which has room for them. A copy that throws
/// becomes the error in that element's place. Returns how many of `from` are dealt with.
inline std::size_t append_copies(Chunk& out, const void* from, std::size_t count) {
  const TypeInfo& type = out.type();
  try {
    type.copy_run(out.back(), from, count);
    out.grow(count);
    return count;
  } catch (...) {
    // Rare: copies one by one, to find the element that throws.
  }
  for (std::size_t i = 0; i < count; ++i) {
    try {
      type.copy_run(out.back(), static_cast<const std::byte*>(from) + i * type.size, 1);
    } catch (...) {
      out.set_error(current_error());
      return i + 1;
    }
    out.grow(1);
  }
  return count;
}

}  // namespace infeed::detail
