#pragma once

#include <cstddef>
#include <cstring>

#include <infeed/pipeline/type_info.h>

// If the compiler knows an element's small size, a move is one load and store (0.3 ns). A memcpy of
// a size that is known only at run time is a call (3 ns).
namespace infeed::detail {

/// Calls function(std::integral_constant<size>) for the common sizes. For others the size is 0,
/// which means "ask the type".
template <class Function>
decltype(auto) with_size(const TypeInfo& type, Function function) {
  if (type.trivially_relocatable) {
    switch (type.size) {
      case 4:
        return function(std::integral_constant<std::size_t, 4>{});
      case 8:
        return function(std::integral_constant<std::size_t, 8>{});
      case 16:
        return function(std::integral_constant<std::size_t, 16>{});
      case 24:
        return function(std::integral_constant<std::size_t, 24>{});
      case 32:
        return function(std::integral_constant<std::size_t, 32>{});
      case 64:
        return function(std::integral_constant<std::size_t, 64>{});
      default:
        break;
    }
  }
  return function(std::integral_constant<std::size_t, 0>{});
}

/// Moves one element of `kSize` bytes; 0: by the type's own function.
template <std::size_t kSize>
void move_one(const TypeInfo& type, void* to, void* from) {
  if constexpr (kSize == 0) {
    type.relocate(to, from, 1);
  } else {
    std::memcpy(to, from, kSize);
  }
}

/// Moves the elements first, first + stride, ... (`count` of them) of `from` next to each other.
/// Destroys the elements before and between them.
inline void move_strided(const TypeInfo& type, void* to, void* from, std::size_t first,
                         std::size_t stride, std::size_t count) {
  auto* target = static_cast<std::byte*>(to);
  auto* const source = static_cast<std::byte*>(from);
  with_size(type, [&](auto size) {
    constexpr std::size_t kSize = decltype(size)::value;
    const std::size_t bytes = kSize == 0 ? type.size : kSize;
    std::size_t at = 0;
    std::size_t gap = first;
    for (std::size_t i = 0; i < count; ++i) {
      if (!type.trivially_destructible) type.destroy(source + at * bytes, gap);
      at += gap;
      move_one<kSize>(type, target + i * bytes, source + at * bytes);
      ++at;
      gap = stride - 1;
    }
  });
}

}  // namespace infeed::detail
