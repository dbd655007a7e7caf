#include "kernels.h"

#include <array>
#include <initializer_list>

namespace infeed::detail {

const Kernels& kernels(VectorWidth width) {
  static const std::array<Kernels, 5> table = [] {
    std::array<Kernels, 5> by_width;
    by_width.fill(kernels_portable());
#if defined(__x86_64__)
    const auto set = [&](std::initializer_list<VectorWidth> widths, const Kernels& of) {
      for (const VectorWidth one : widths) by_width[static_cast<std::size_t>(one)] = of;
    };
    using enum VectorWidth;
    const bool has_fma = __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx2") != 0;
    if (has_fma) set({bits_128}, kernels_128());
    if (has_fma) set({bits_256, bits_512, widest}, kernels_256());
    if (has_fma && __builtin_cpu_supports("avx512f") != 0) set({bits_512, widest}, kernels_512());
#endif
    return by_width;
  }();
  return table[static_cast<std::size_t>(width)];
}

}  // namespace infeed::detail
