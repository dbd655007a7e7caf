#pragma once

#include <memory>
#include <utility>

#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed {

/// Why: carries something from element to element: a running sum, the last element seen.
///
///     numbers | infeed::scan(std::int64_t{0}, [](std::int64_t sum, std::int64_t x) {
///       return std::pair(sum + x, sum + x);   // the new state, the new element
///     })
///
/// Each pass starts with the initial state. What the function throws is the element's error and
/// leaves the state as it was. A resume calls the function for the elements that it passes over.
template <class State, class F>
auto scan(State initial_state, F function);

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

template <class T, class State, class F, class Out>
KernelResult scan_kernel(const void* function, void* state, void* in, void* out, std::size_t count,
                         const Place&, ErrorPointer& error) {
  const F& call = static_cast<const ScanFunction<State, F>*>(function)->call;
  // In a variable of its own while the loop runs: the compiler keeps it in a register.
  State& kept = *static_cast<State*>(state);
  State current(std::move(kept));
  T* __restrict const input = static_cast<T*>(in);
  Out* __restrict const output = static_cast<Out*>(out);
  std::size_t i = 0;
  try {
    for (; i < count; ++i) {
      auto result = call(std::as_const(current), std::move(input[i]));
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
  State initial;
  F function;

  template <class T>
  auto operator()(const Dataset<T>& input) const {
    static_assert(kCallable<F, const State&, T&&>,
                  "infeed::scan: the function must be callable as const, with the state (const "
                  "State&) and the element (const T& or T)");
    if constexpr (kCallable<F, const State&, T&&>) {
      using Result = std::remove_cvref_t<std::invoke_result_t<const F&, const State&, T&&>>;
      static_assert(kIsPair<Result>,
                    "infeed::scan: the function must return a std::pair of the new state and the "
                    "new element");
      if constexpr (kIsPair<Result>) {
        using Out = typename Result::second_type;
        static_assert(std::is_copy_constructible_v<State> &&
                          std::is_nothrow_move_constructible_v<State> &&
                          std::is_nothrow_assignable_v<State&, typename Result::first_type>,
                      "infeed::scan: each pass starts with a copy of the initial state, and the "
                      "pair's first part must move into it without throwing");
        ElementwiseSpec spec{.name = "scan", .signature = "scan", .out_type = &type_info<Out>()};
        spec.kernel = &scan_kernel<T, State, F, Out>;
        spec.function = std::make_shared<const ScanFunction<State, F>>(
            ScanFunction<State, F>{initial, function});
        spec.make_state = [](const void* scan) -> std::shared_ptr<void> {
          return std::make_shared<State>(static_cast<const ScanFunction<State, F>*>(scan)->initial);
        };
        return Dataset<Out>(make_elementwise(std::move(spec), input.node()));
      }
    }
  }
};

}  // namespace detail

template <class State, class F>
auto scan(State initial_state, F function) {
  return detail::ScanStageFactory<State, F>{std::move(initial_state), std::move(function)};
}

}  // namespace infeed
