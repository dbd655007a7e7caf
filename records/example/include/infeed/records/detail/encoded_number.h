#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

/// Numbers of structs as features store them.
namespace infeed::detail {

[[noreturn]] void refuse_integer(const std::string& name, std::uint64_t value);
[[noreturn]] void refuse_float(const std::string& name, double value);

/// Throws invalid_argument beyond 2^63 - 1, which a feature's integers don't hold.
template <class T>
std::int64_t encoded_integer(const std::string& name, T value) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::int64_t)) {
    if (value > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
      refuse_integer(name, value);
  }
  return static_cast<std::int64_t>(value);
}

/// Rounds to the nearest float, as which features are stored. Throws invalid_argument where that is
/// infinite.
template <class T>
float encoded_float(const std::string& name, T value) {
  const auto narrow = static_cast<float>(value);
  if constexpr (sizeof(T) > sizeof(float)) {
    if (std::isinf(narrow) && !std::isinf(value)) refuse_float(name, static_cast<double>(value));
  }
  return narrow;
}

}  // namespace infeed::detail
