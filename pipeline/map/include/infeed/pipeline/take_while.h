#pragma once

#include <utility>

#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed {

/// Why: this gives the elements before the first one for which the predicate is false; there the
/// stream ends. An error, the predicate's own too, is handed on in its place and ends nothing.
///
///     losses | infeed::take_while([](double loss) { return loss > 0.1; })
template <class F>
auto take_while(F predicate);

// Only the library reads what follows.
namespace detail {

template <class T, class F>
KernelResult take_while_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                               const Place&, ErrorPointer& error) {
  const F& goes_on = *static_cast<const F*>(function);
  T* const input = static_cast<T*>(in);
  T* const output = static_cast<T*>(out);
  std::size_t i = 0;
  try {
    for (; i < count; ++i) {
      // The element that ends the stream stays where it is: the stage clears what is left.
      if (!goes_on(std::as_const(input[i]))) return {i, i, true};
      ::new (static_cast<void*>(output + i)) T(std::move(input[i]));
      input[i].~T();
    }
    return {count, count};
  } catch (...) {
    error = current_error();
    input[i].~T();
    return {i + 1, i};
  }
}

template <class F>
struct TakeWhileStageFactory {
  F function;

  template <class T>
  Dataset<T> operator()(const Dataset<T>& input) const {
    static_assert(kCallable<F, const T&>,
                  "infeed::take_while: the predicate must be callable as const with const T&");
    ElementwiseSpec spec{
        .name = "take_while", .signature = "take_while", .out_type = &type_info<T>()};
    spec.kernel = &take_while_kernel<T, F>;
    spec.function = share_function(function);
    spec.one_to_one = false;
    return Dataset<T>(make_elementwise(std::move(spec), input.node()));
  }
};

}  // namespace detail

template <class F>
auto take_while(F predicate) {
  return detail::TakeWhileStageFactory<F>{std::move(predicate)};
}

}  // namespace infeed
