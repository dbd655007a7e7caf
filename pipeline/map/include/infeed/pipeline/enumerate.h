#pragma once

#include <utility>

#include <infeed/pipeline/detail/elementwise.h>

namespace infeed {

/// Numbers the elements: makes pairs (start + i, element i). An error takes a number, too.
/// Behind 2^63 - 1 the numbers go on at -2^63.
///
///     dataset | infeed::enumerate()
///             | infeed::filter([](std::int64_t number, const Sample&) { return number > 9; })
inline auto enumerate(std::int64_t start = 0, StageOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class T>
KernelResult enumerate_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                              const Place& place, ErrorPointer&) {
  using Out = std::pair<std::int64_t, T>;
  T* const input = static_cast<T*>(in);
  Out* const output = static_cast<Out*>(out);
  // Numbers beyond 2^63 - 1 go on at -2^63.
  const std::uint64_t first =
      static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(function)) + place.position;
  for (std::size_t i = 0; i < count; ++i) {
    ::new (static_cast<void*>(output + i))
        Out(static_cast<std::int64_t>(first + i), std::move(input[i]));
    input[i].~T();
  }
  return {count, count};
}

struct EnumerateStageFactory {
  using ComposesAsStage = void;
  std::int64_t start;

  template <class T>
  Dataset<std::pair<std::int64_t, T>> operator()(Dataset<T> input) const {
    using Out = std::pair<std::int64_t, T>;
    ElementwiseSpec spec{.name = "enumerate", .signature = {}, .out_type = &type_info<Out>()};
    spec.signature = "enumerate(start=" + std::to_string(start) + ")";
    spec.kernel = &enumerate_kernel<T>;
    spec.shows_position = true;
    spec.function = std::make_shared<const std::int64_t>(start);
    return Dataset<Out>(make_elementwise(std::move(spec), input.node()));
  }
};

}  // namespace detail

inline auto enumerate(std::int64_t start, StageOptions options) {
  return named_stage(options.name, detail::EnumerateStageFactory{start});
}

}  // namespace infeed
