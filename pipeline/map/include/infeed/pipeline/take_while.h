#pragma once

#include <memory>
#include <utility>

#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed {

/// Gives the elements before the first one for which the predicate is false; the stream ends there.
/// An error, also the predicate's own, is handed on in its place and doesn't end the stream. The
/// members of a pair or tuple may be separate arguments, as in map.
///
///     losses | infeed::take_while([](double loss) { return loss > 0.1; })
template <class F>
auto take_while(F predicate, StageOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class T, class F>
KernelResult take_while_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                               const Place&, ErrorPointer& error) {
  const F& predicate = *static_cast<const F*>(function);
  T* const input = static_cast<T*>(in);
  T* const output = static_cast<T*>(out);
  std::size_t i = 0;
  try {
    for (; i < count; ++i) {
      // The element that ends the stream stays in place: the stage clears the rest.
      if (!ElementCall<F, const T&>::call(predicate, input[i])) return {i, i, true};
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
  using ComposesAsStage = void;
  std::shared_ptr<const F> function;

  template <class Element>
  Dataset<Element> operator()(const Dataset<Element>& input) const {
    using Call = ElementCall<F, const Element&>;
    static_assert(!Call::needs_mutable(),
                  "infeed::take_while: the predicate changes itself (a mutable lambda), but "
                  "threads share it: leave out `mutable`");
    static_assert(Call::kPossible || Call::needs_mutable(),
                  "infeed::take_while: the predicate can't be called with the dataset's Element: "
                  "it takes const Element&, or the members of a pair or tuple");
    static_assert(!Call::kPossible || kGivesBool<Call>,
                  "infeed::take_while: the predicate must return a bool: false ends the stream");
    if constexpr (kGivesBool<Call>) {
      ElementwiseSpec spec{
          .name = "take_while", .signature = "take_while", .out_type = &type_info<Element>()};
      spec.kernel = &take_while_kernel<Element, F>;
      spec.function = function;
      spec.one_to_one = false;
      return Dataset<Element>(make_elementwise(std::move(spec), input.node()));
    } else {
      return input;
    }
  }
};

}  // namespace detail

template <class F>
auto take_while(F predicate, StageOptions options) {
  return named_stage(options.name, detail::TakeWhileStageFactory<F>{
                                       std::make_shared<const F>(std::move(predicate))});
}

}  // namespace infeed
