#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "infeed/error.h"
#include "infeed/records/bfloat16.h"
#include "infeed/records/float16.h"

/// Why: the type of a column that is known only when the program runs, by the names that NumPy and
/// TensorFlow use.
///
///     infeed::DType dtype = infeed::dtype_from("float32");
///     std::size_t bytes = infeed::item_bytes(dtype);             // 4
///     bool same = dtype == infeed::dtype_of<float>();            // true
///     std::string_view name = infeed::to_string(dtype);          // "float32"
namespace infeed {

enum class DType : std::uint8_t {
  boolean,  ///< "bool": one byte, 0 or 1
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  bytes,  ///< values of any lengths: only a kind of column, never the items of a Tensor
};
inline constexpr std::size_t kDTypes = 14;

/// Returns "bool", "int8", ..., "bfloat16", "float32", "float64" or "bytes".
std::string_view to_string(DType dtype);
/// Returns the type of that name. An unknown name is an Error (invalid_argument) that lists them.
DType dtype_from(std::string_view name);

/// Returns the bytes of one item; 0 for DType::bytes.
constexpr std::size_t item_bytes(DType dtype) {
  constexpr std::array<std::uint8_t, kDTypes> kBytes = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 0};
  return kBytes[static_cast<std::size_t>(dtype)];
}
constexpr bool is_float(DType dtype) { return dtype >= DType::float16 && dtype <= DType::float64; }
/// True for whole numbers, bool included.
constexpr bool is_integer(DType dtype) { return dtype <= DType::uint64; }

/// Returns the type of a C++ type: bool, an integer type, std::byte (as uint8), float16, bfloat16,
/// float, double.
template <class T>
constexpr DType dtype_of() {
  constexpr bool kIsKnown = (std::is_integral_v<T> && sizeof(T) <= 8 && !std::is_same_v<T, char>) ||
                            std::is_same_v<T, std::byte> || std::is_same_v<T, infeed::float16> ||
                            std::is_same_v<T, infeed::bfloat16> || std::is_same_v<T, float> ||
                            std::is_same_v<T, double>;
  static_assert(kIsKnown,
                "infeed: this type is the item of no Tensor; there are bool, the integer types, "
                "infeed::float16, infeed::bfloat16, float and double");
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, std::byte>) return DType::uint8;
  if constexpr (std::is_same_v<T, infeed::float16>) return DType::float16;
  if constexpr (std::is_same_v<T, infeed::bfloat16>) return DType::bfloat16;
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  constexpr int kLog2Bytes = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  const auto first = static_cast<int>(std::is_signed_v<T> ? DType::int8 : DType::uint8);
  return static_cast<DType>(first + kLog2Bytes);
}

}  // namespace infeed
