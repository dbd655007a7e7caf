#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/detach.h>
#include <infeed/pipeline/payload.h>
#include <infeed/records/record.h>

/// Why: stages are ordinary classes that move elements without knowing their type. This table is
/// all they know: a size, and how to move, copy and destroy a run of elements. Only loops that call
/// a user's function are templates. range | map x10 costs 8 ns an element erased and 7 ns fully
/// typed, but erased it takes a sixth of the compile time and an eighth of the code.
namespace infeed {

/// True if moving an object and forgetting the original is the same as copying its bytes. Such
/// elements move by memcpy. Specialise it for your own types.
template <class T>
struct IsTriviallyRelocatable : std::is_trivially_copyable<T> {};
template <class T, class D>
struct IsTriviallyRelocatable<std::unique_ptr<T, D>> : std::is_empty<D> {};
template <class T>
struct IsTriviallyRelocatable<std::shared_ptr<T>> : std::true_type {};

template <class A, class B>
struct IsTriviallyRelocatable<std::pair<A, B>>
    : std::bool_constant<IsTriviallyRelocatable<A>::value && IsTriviallyRelocatable<B>::value> {};
template <class... Ts>
struct IsTriviallyRelocatable<std::tuple<Ts...>>
    : std::bool_constant<(IsTriviallyRelocatable<Ts>::value && ...)> {};
template <>
struct IsTriviallyRelocatable<Record> : std::true_type {};

struct TypeInfo {
  std::size_t size;
  std::size_t alignment;
  bool trivially_relocatable;
  bool trivially_destructible;
  /// Moves `count` neighbours to uninitialised memory that doesn't overlap; the originals are gone.
  void (*relocate_run)(void* to, void* from, std::size_t count) noexcept;
  void (*destroy_run)(void* at, std::size_t count) noexcept;
  /// Copies `count` neighbours. Null for a type that can't be copied (a cache or a repeat from
  /// memory then refuses it). If it throws, no copies are left behind.
  void (*copy_run)(void* to, const void* from, std::size_t count);
  /// Returns the bytes that the elements own elsewhere (a string's text). Null if they own none.
  std::size_t (*payload_bytes_run)(const void* at, std::size_t count) noexcept;
  /// Gives each element memory of its own, where what it owns lies in memory that its neighbours
  /// keep, too (a record's block). Null if no element does.
  void (*detach_run)(void* at, std::size_t count);
  /// The type as the compiler spells it, for messages.
  std::string_view name;

  void relocate(void* to, void* from, std::size_t count) const noexcept {
    if (trivially_relocatable) {
      std::memcpy(to, from, count * size);
    } else {
      relocate_run(to, from, count);
    }
  }
  void destroy(void* at, std::size_t count) const noexcept {
    if (!trivially_destructible) destroy_run(at, count);
  }
  /// Returns sizeof and owned bytes of `count` elements, as a buffer counts them.
  std::size_t bytes(const void* at, std::size_t count) const noexcept {
    return count * size + (payload_bytes_run == nullptr ? 0 : payload_bytes_run(at, count));
  }
};

namespace detail {

/// std::is_copy_constructible, corrected for vectors: the standard trait is true even for a vector
/// of elements that can't be copied.
template <class T>
inline constexpr bool kIsCopyable = std::is_copy_constructible_v<T>;
template <class T, class A>
inline constexpr bool kIsCopyable<std::vector<T, A>> = kIsCopyable<T>;
template <class A, class B>
inline constexpr bool kIsCopyable<std::pair<A, B>> = kIsCopyable<A>&& kIsCopyable<B>;
template <class... Ts>
inline constexpr bool kIsCopyable<std::tuple<Ts...>> = (kIsCopyable<Ts> && ...);

template <class T>
void relocate_run(void* to, void* from, std::size_t count) noexcept {
  T* const source = static_cast<T*>(from);
  T* const target = static_cast<T*>(to);
  for (std::size_t i = 0; i < count; ++i) {
    ::new (static_cast<void*>(target + i)) T(std::move(source[i]));
    source[i].~T();
  }
}

template <class T>
void destroy_run(void* at, std::size_t count) noexcept {
  if constexpr (requires(T * elements) { destroy_elements(elements, count); }) {
    destroy_elements(static_cast<T*>(at), count);
  } else {
    std::destroy_n(static_cast<T*>(at), count);
  }
}

template <class T>
void copy_run(void* to, const void* from, std::size_t count) {
  std::uninitialized_copy_n(static_cast<const T*>(from), count, static_cast<T*>(to));
}

template <class T>
std::size_t payload_bytes_run(const void* at, std::size_t count) noexcept {
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) total += payload_bytes(static_cast<const T*>(at)[i]);
  return total;
}

template <class T>
void detach_run(void* at, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) detach(static_cast<T*>(at)[i]);
}

template <class T>
constexpr std::string_view type_name() {
  // "... type_name() [with T = int; std::string_view = ...]" (g++), "... [T = int]" (clang).
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("T = ") + 4;
  const std::size_t end = text.find(';', begin);
  return text.substr(begin, (end == text.npos ? text.rfind(']') : end) - begin);
}

template <class T>
constexpr TypeInfo make_type_info() {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "infeed: an element must be movable without throwing");
  TypeInfo info{sizeof(T),
                alignof(T),
                IsTriviallyRelocatable<T>::value,
                std::is_trivially_destructible_v<T>,
                &relocate_run<T>,
                &destroy_run<T>,
                nullptr,
                nullptr,
                nullptr,
                type_name<T>()};
  if constexpr (kIsCopyable<T>) info.copy_run = &copy_run<T>;
  if constexpr (kHasPayload<T>) info.payload_bytes_run = &payload_bytes_run<T>;
  if constexpr (shares_memory<T>()) info.detach_run = &detach_run<T>;
  return info;
}

template <class T>
inline constexpr TypeInfo kTypeInfo = make_type_info<T>();

}  // namespace detail

/// Returns the table of T; it has one address per type within a program.
template <class T>
const TypeInfo& type_info() {
  return detail::kTypeInfo<T>;
}

}  // namespace infeed
