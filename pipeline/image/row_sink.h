#pragma once

#include <cstddef>
#include <cstdint>

namespace infeed::image {

/// Kernels read whole vectors, so they may read this many bytes past a row's end. Those values
/// don't affect results.
inline constexpr std::size_t kRowPadding = 64;

/// Why: a decoded image need never exist as a whole: a resize takes its rows while they are in the
/// cache. The functions don't throw, because they are called inside a C library that may leave by
/// longjmp.
class RowSink {
 public:
  virtual ~RowSink() = default;
  /// Takes the rows from the top, one by one. kRowPadding bytes after each may be read.
  virtual void take(const std::uint8_t* row) noexcept = 0;
  /// Returns where the next row should be written, without bytes after it; null: anywhere.
  virtual std::uint8_t* place() noexcept { return nullptr; }
};

}  // namespace infeed::image
