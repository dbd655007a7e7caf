#pragma once

#include <functional>

#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed {

/// Why: keeps the elements for which the predicate is true. An error of the predicate takes the
/// element's place.
///
///     dataset | infeed::filter([](const Sample& sample) { return sample.label >= 0; })
template <class F>
auto filter(F predicate);

// Only the library reads what follows.
namespace detail {

template <class T, class F>
KernelResult filter_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                           const Place&, ErrorPointer& error) {
  const F& keep = *static_cast<const F*>(function);
  T* const input = static_cast<T*>(in);
  T* output = static_cast<T*>(out);
  T* const begin = output;
  std::size_t i = 0;
  try {
    if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= 16) {
      // Without a branch: a predicate that can't be foreseen costs no misprediction.
      for (; i < count; ++i) {
        const bool kept = static_cast<bool>(std::invoke(keep, std::as_const(input[i])));
        ::new (static_cast<void*>(output)) T(input[i]);
        output += kept ? 1 : 0;
      }
    } else {
      for (; i < count; ++i) {
        if (std::invoke(keep, std::as_const(input[i]))) {
          ::new (static_cast<void*>(output)) T(std::move(input[i]));
          ++output;
        }
        input[i].~T();
      }
    }
    return {count, static_cast<std::size_t>(output - begin)};
  } catch (...) {
    error = current_error();
    input[i].~T();
    return {i + 1, static_cast<std::size_t>(output - begin)};
  }
}

template <class F>
struct FilterStageFactory {
  F function;

  template <class T>
  Dataset<T> operator()(Dataset<T> input) const {
    static_assert(kCallable<F, const T&>,
                  "infeed::filter: the predicate must be callable as const with const T&");
    ElementwiseSpec spec{.name = "filter", .signature = "filter", .out_type = &type_info<T>()};
    spec.kernel = &filter_kernel<T, F>;
    spec.function = share_function(function);
    spec.one_to_one = false;
    return Dataset<T>(make_elementwise(std::move(spec), input.node()));
  }
};

}  // namespace detail

template <class F>
auto filter(F predicate) {
  return detail::FilterStageFactory<F>{std::move(predicate)};
}

}  // namespace infeed
