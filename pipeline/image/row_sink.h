#pragma once

#include <cstddef>
#include <cstdint>

namespace infeed::image {

/// Kernels read whole vectors: so many bytes behind a row's end may be read (their values reach
/// nothing).
inline constexpr std::size_t kRowPadding = 64;

/// Why: a decoded image need never be whole: who resizes it takes its rows while they are in the
/// cache. Its functions don't throw, as they are called between the calls of a C library that may
/// leave by longjmp.
class RowSink {
 public:
  virtual ~RowSink() = default;
  /// The rows from the top, one by one; kRowPadding bytes behind each can be read.
  virtual void take(const std::uint8_t* row) noexcept = 0;
  /// Where the next row should be written, without bytes behind it; null: anywhere.
  virtual std::uint8_t* place() noexcept { return nullptr; }
};

}  // namespace infeed::image
