#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/fields.h>
#include <infeed/records/record.h>

/// Why: a memory limit that counts sizeof(std::string) and forgets the text is no limit. An
/// element's payload is the memory it owns outside itself. Plain structs are looked into field by
/// field.
///
/// For a type of your own that owns memory, specialise Payload:
///     template <> struct infeed::Payload<Image> {
///       static std::size_t bytes(const Image& image) { return image.pixels_bytes(); }
///     };
/// Memory that several elements share should be counted by one of them, or in parts. If it lives as
/// long as any of them, `static void detach(Image&)` gives one of them memory of its own: a stage
/// that keeps single elements for long calls it in an iteration with a memory limit.
namespace infeed {

/// The bytes that a T owns. The general case owns none and has no bytes(), so that the engine can
/// tell.
template <class T, class = void>
struct Payload {};

namespace detail {

template <class T>
inline constexpr bool kHasPayload = requires(const T& value) {
  Payload<T>::bytes(value);
};

template <class T>
std::size_t payload_bytes(const T& value) {
  if constexpr (kHasPayload<T>) {
    return Payload<T>::bytes(value);
  } else {
    return 0;
  }
}

template <class Tuple>
inline constexpr bool kAnyHasPayload = false;
template <class... Ts>
inline constexpr bool kAnyHasPayload<std::tuple<Ts...>> = (kHasPayload<std::remove_cvref_t<Ts>> ||
                                                           ...);

}  // namespace detail

template <class C, class A>
struct Payload<std::basic_string<C, std::char_traits<C>, A>> {
  static std::size_t bytes(const std::basic_string<C, std::char_traits<C>, A>& text) {
    const auto* const self = reinterpret_cast<const char*>(&text);
    const auto* const data = reinterpret_cast<const char*>(text.data());
    const bool inside = data >= self && data < self + sizeof(text);  // short text owns nothing
    return inside ? 0 : (text.capacity() + 1) * sizeof(C);
  }
};

template <class T, class A>
struct Payload<std::vector<T, A>> {
  static std::size_t bytes(const std::vector<T, A>& values) {
    std::size_t total = values.capacity() * sizeof(T);
    if constexpr (detail::kHasPayload<T>) {
      for (const T& value : values) total += detail::payload_bytes(value);
    }
    return total;
  }
};

template <class T, class D>
struct Payload<std::unique_ptr<T, D>> {
  static std::size_t bytes(const std::unique_ptr<T, D>& pointer) {
    return pointer == nullptr ? 0 : sizeof(T) + detail::payload_bytes(*pointer);
  }
};

template <class T>
struct Payload<std::shared_ptr<T>> {
  static std::size_t bytes(const std::shared_ptr<T>& pointer) {
    if constexpr (std::is_void_v<T>) {
      return 0;
    } else {
      return pointer == nullptr ? 0 : sizeof(T) + detail::payload_bytes(*pointer);
    }
  }
};

/// A record counts its own part of the block that it shares with its neighbours.
template <>
struct Payload<Record> {
  static std::size_t bytes(const Record& record) { return record.size(); }
  static void detach(Record& record) { record = record.detached(); }
};

template <class T>
struct Payload<std::optional<T>, std::enable_if_t<detail::kHasPayload<T>>> {
  static std::size_t bytes(const std::optional<T>& value) {
    return value ? detail::payload_bytes(*value) : 0;
  }
};

template <class T, std::size_t N>
struct Payload<std::array<T, N>, std::enable_if_t<detail::kHasPayload<T>>> {
  static std::size_t bytes(const std::array<T, N>& values) {
    std::size_t total = 0;
    for (const T& value : values) total += detail::payload_bytes(value);
    return total;
  }
};

/// Pairs, tuples and plain structs if at least one field owns memory.
template <class T>
struct Payload<T, std::enable_if_t<(detail::field_count<T>() > 0) &&
                                   detail::kAnyHasPayload<detail::FieldTypes<T>>>> {
  static std::size_t bytes(const T& value) {
    return std::apply([](const auto&... field) { return (detail::payload_bytes(field) + ... + 0); },
                      detail::tie_fields(value));
  }
};

}  // namespace infeed
