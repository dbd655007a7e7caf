#pragma once

#include <cstddef>
#include <cstring>

#include <infeed/pipeline/type_info.h>

// Moves of single elements of a known small size compile to one load and store; a memcpy of a size
// that only the program knows is a call (3 ns instead of 0.3).
namespace infeed::detail {

/// Calls function(std::integral_constant<size>) for the common sizes, else with size 0: "ask the
/// type".
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

/// Moves one element of `kSize` bytes (0: as the type says).
template <std::size_t kSize>
void move_one(const TypeInfo& type, void* to, void* from) {
  if constexpr (kSize == 0) {
    type.relocate(to, from, 1);
  } else {
    std::memcpy(to, from, kSize);
  }
}

/// Moves the elements first, first + stride, ... (`count` of them) of `from` next to each other;
/// the ones between and before are destroyed.
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
