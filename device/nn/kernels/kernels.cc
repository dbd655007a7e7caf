#include "kernels.h"

#include <array>

namespace infeed::detail {
namespace {

bool has(VectorWidth width) {
#if defined(__x86_64__)
  const bool fma = __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx2") != 0;
  if (width == VectorWidth::bits_512) return fma && __builtin_cpu_supports("avx512f") != 0;
  return fma;
#else
  static_cast<void>(width);
  return false;
#endif
}

}  // namespace

const Kernels& kernels(VectorWidth width) {
  static const std::array<Kernels, 5> table = [] {
    std::array<Kernels, 5> by_width;
    const auto at = [&](VectorWidth w) -> Kernels& {
      return by_width[static_cast<std::size_t>(w)];
    };
    at(VectorWidth::portable) = kernels_portable();
    at(VectorWidth::bits_128) = has(VectorWidth::bits_128) ? kernels_128() : kernels_portable();
    at(VectorWidth::bits_256) =
        has(VectorWidth::bits_256) ? kernels_256() : at(VectorWidth::bits_128);
    at(VectorWidth::bits_512) =
        has(VectorWidth::bits_512) ? kernels_512() : at(VectorWidth::bits_256);
    at(VectorWidth::widest) = at(VectorWidth::bits_512);
    return by_width;
  }();
  return table[static_cast<std::size_t>(width)];
}

}  // namespace infeed::detail
