#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "io/little_endian.h"

/// The frame that readers of LZ4 and of zstd pass over: a magic number, the size of the content (4
/// bytes each, little-endian), the content. Programs keep data of their own there.
namespace infeed::detail {

inline constexpr std::uint32_t kSkippableMagic = 0x184d2a50;  ///< the first of 16
inline constexpr std::size_t kSkippableHeaderBytes = 8;

inline bool is_skippable_magic(std::uint32_t magic) {
  return (magic & ~std::uint32_t{0xf}) == kSkippableMagic;
}

/// Returns what follows the skippable frames at the begin of `front`: nothing where one goes on
/// behind it.
inline std::string_view behind_skippable_frames(std::string_view front) {
  while (front.size() >= kSkippableHeaderBytes &&
         is_skippable_magic(load_little<std::uint32_t>(front.data()))) {
    front.remove_prefix(kSkippableHeaderBytes);
    const std::size_t content = load_little<std::uint32_t>(front.data() - 4);
    front.remove_prefix(content < front.size() ? content : front.size());
  }
  return front;
}

}  // namespace infeed::detail
