#pragma once

#include <type_traits>

#include <infeed/records/bfloat16.h>
#include <infeed/records/float16.h>

namespace infeed::detail {

/// True for the numbers that columns hold.
template <class T>
inline constexpr bool kIsColumnNumber =
    std::is_arithmetic_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

}  // namespace infeed::detail
