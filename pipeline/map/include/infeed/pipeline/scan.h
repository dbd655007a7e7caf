#pragma once

#include <memory>
#include <utility>

#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed {

/// Carries a state from element to element: a running sum, the last element seen.
///
///     numbers | infeed::scan(std::int64_t{0}, [](std::int64_t sum, std::int64_t x) {
///       return std::pair(sum + x, sum + x);   // the new state, the new element
///     })
///
/// Each pass starts with the initial state. An exception of the function is the element's error and
/// leaves the state as it was. The members of a pair or tuple may be separate arguments after the
/// state, as in map. A resume calls the function for the elements that it passes over.
template <class State, class F>
auto scan(State initial_state, F function, StageOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class T>
inline constexpr bool kIsPair = false;
template <class A, class B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;

template <class State, class F>
struct ScanFunction {
  State initial;
  F call;
};

template <class T, class State, class F>
using ScanCall = ElementCall<F, T&&, Arguments<const State&>>;

template <class T, class State, class F, class Out>
KernelResult scan_kernel(const void* function, void* state, void* in, void* out, std::size_t count,
                         const Place&, ErrorPointer& error) {
  const F& call = static_cast<const ScanFunction<State, F>*>(function)->call;
  // A local variable during the loop, which the compiler keeps in a register.
  State& kept = *static_cast<State*>(state);
  State current(std::move(kept));
  T* __restrict const input = static_cast<T*>(in);
  Out* __restrict const output = static_cast<Out*>(out);
  std::size_t i = 0;
  try {
    for (; i < count; ++i) {
      auto result = ScanCall<T, State, F>::call(call, std::as_const(current), std::move(input[i]));
      ::new (static_cast<void*>(output + i)) Out(std::move(result.second));
      current = std::move(result.first);
      input[i].~T();
    }
  } catch (...) {
    error = current_error();
    input[i].~T();
    kept = std::move(current);
    return {i + 1, i};
  }
  kept = std::move(current);
  return {count, count};
}

template <class State, class F>
struct ScanStageFactory {
  using ComposesAsStage = void;
  std::shared_ptr<const ScanFunction<State, F>> function;

  template <class Element>
  auto operator()(const Dataset<Element>& input) const {
    using Call = ScanCall<Element, State, F>;
    using Result = typename ElementCallResult<Call>::type;
    static_assert(!Call::needs_mutable(),
                  "infeed::scan: the function changes itself (a mutable lambda): leave out "
                  "`mutable`, and keep in the State what goes from element to element");
    static_assert(Call::kPossible || Call::needs_mutable(),
                  "infeed::scan: the function can't be called with the State and the dataset's "
                  "Element: it takes const State&, then const Element&, Element or the members of "
                  "a pair or tuple");
    static_assert(!Call::kPossible || kIsPair<Result>,
                  "infeed::scan: the function must return a std::pair of the new state and the "
                  "new element");
    if constexpr (kIsPair<Result>) {
      static_assert(std::is_copy_constructible_v<State> &&
                        std::is_nothrow_move_constructible_v<State> &&
                        std::is_nothrow_assignable_v<State&, typename Result::first_type>,
                    "infeed::scan: each pass starts with a copy of the initial state, and the "
                    "pair's first part must move into it without throwing");
      return stage_of<Element, typename Result::second_type>(input);
    } else {
      return refused();
    }
  }

 private:
  template <class Element, class Out>
  Dataset<Out> stage_of(const Dataset<Element>& input) const {
    ElementwiseSpec spec{.name = "scan", .signature = "scan", .out_type = &type_info<Out>()};
    spec.kernel = &scan_kernel<Element, State, F, Out>;
    spec.function = function;
    spec.make_state = [](const void* scan) -> std::shared_ptr<void> {
      return std::make_shared<State>(static_cast<const ScanFunction<State, F>*>(scan)->initial);
    };
    return Dataset<Out>(make_elementwise(std::move(spec), input.node()));
  }
};

}  // namespace detail

template <class State, class F>
auto scan(State initial_state, F function, StageOptions options) {
  return named_stage(
      options.name,
      detail::ScanStageFactory<State, F>{std::make_shared<const detail::ScanFunction<State, F>>(
          detail::ScanFunction<State, F>{std::move(initial_state), std::move(function)})});
}

}  // namespace infeed
