#pragma once

#include <bit>
#include <cstring>

namespace infeed::detail {

template <class T>
T load_little(const char* at) {
  static_assert(std::endian::native == std::endian::little,
                "infeed runs on little-endian machines");
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
void store_little(char* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

}  // namespace infeed::detail
