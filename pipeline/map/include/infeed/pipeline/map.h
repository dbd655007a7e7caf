#pragma once

#include <functional>
#include <string>

#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/detail/seeds.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed {

struct MapOptions {
  /// The most calls at the same time; with 1 the pulling thread makes them. autotune takes as many
  /// as there are usable cores, and up to 64 if the function blocks (sleeps, reads) rather than
  /// computes.
  Count parallelism = 1;
  /// If true, parallel results come in the input's order; if false, as they are ready, which can't be
  /// repeated or resumed exactly.
  bool ordered = true;
  /// The seed of functions that take an Rng. By default it is drawn once, when the stage is
  /// described. A resume in another process takes the drawn seed of its checkpoint.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// Repeats calls with transient errors: {.guard = {.retries = 3}}.
  GuardOptions guard = {};
  /// Change it whenever the function changes, since functions can't be compared. Checkpoints and
  /// cache files that another version made are then refused.
  std::string version = {};
  StageName name = {};  ///< as in StageOptions
};

/// Calls a function on each element.
///
///     images | infeed::map([](const Image& image) { return decode(image); },
///                          {.parallelism = infeed::autotune})
///
/// The function may also be a pointer to a member: infeed::map(&Image::label). The members of a
/// pair or tuple may be separate arguments, here and in the other stages that call a function:
///
///     infeed::zip(images, labels)
///         | infeed::map([](const Image&, std::int64_t label) { return label > 0; })
///
/// The function is called as const, possibly from several threads at once, so it must not change
/// shared data. It may own values that can't be copied. Its exception becomes an error in that
/// element's place. A function that takes an infeed::Rng& as its last argument gets a generator
/// keyed by (seed, epoch, position): the same numbers for the same element at any thread count and
/// after any resume. After shard it is the position in the stream that the shards share (shard.h),
/// so the number of hosts doesn't matter either.
template <class F>
auto map(F function, MapOptions options = {});

// Only the library reads what follows.
namespace detail {

/// Calls F with a T as map does: with the element or its members, and perhaps an Rng.
template <class T, class F>
struct MapCall {
  using Plain = ElementCall<F, T&&>;
  using Random = ElementCall<F, T&&, Arguments<>, Arguments<Rng&>>;

  static constexpr bool is_random() {
    if constexpr (Plain::kPossible) {
      return false;  // not tried: a template may take an Rng for any argument
    } else {
      return Random::kPossible;
    }
  }
  static constexpr bool needs_mutable() {
    if constexpr (Plain::kPossible || is_random()) {
      return false;
    } else {
      return Plain::needs_mutable() || Random::needs_mutable();
    }
  }
  static constexpr bool kRandom = is_random();
  static constexpr bool kPossible = Plain::kPossible || kRandom;
  using Result = typename ElementCallResult<std::conditional_t<kRandom, Random, Plain>>::type;
};

template <class T, class F>
KernelResult map_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                        const Place& place, ErrorPointer& error) {
  using Call = MapCall<T, F>;
  using Out = typename Call::Result;
  const F& call = *static_cast<const F*>(function);
  T* __restrict const input = static_cast<T*>(in);
  const auto apply = [&](std::size_t i) -> decltype(auto) {
    if constexpr (Call::kRandom) {
      Rng rng(place.key.seed, place.epoch, place.unsharded(i));
      return Call::Random::call(call, std::move(input[i]), rng);
    } else {
      return Call::Plain::call(call, std::move(input[i]));
    }
  };
  Out* __restrict const output = static_cast<Out*>(out);
  std::size_t i = 0;
  try {
    for (; i < count; ++i) {
      ::new (static_cast<void*>(output + i)) Out(apply(i));
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
struct MapStageFactory {
  using ComposesAsStage = void;
  std::shared_ptr<const F> function;
  MapOptions options;

  template <class Element>
  auto operator()(const Dataset<Element>& input) const {
    using Call = MapCall<Element, F>;
    using Out = typename Call::Result;
    static_assert(!Call::needs_mutable(),
                  "infeed::map: the function changes itself (a mutable lambda), but threads share "
                  "it: leave out `mutable`; what goes from element to element is infeed::scan's");
    static_assert(Call::kPossible || Call::needs_mutable(),
                  "infeed::map: the function can't be called with the dataset's Element: it takes "
                  "const Element&, Element or the members of a pair or tuple, and may take an "
                  "infeed::Rng& behind them");
    static_assert(!Call::kPossible || !std::is_void_v<Out>,
                  "infeed::map: the function returns nothing: it must return the new element");
    static_assert(std::is_void_v<Out> || std::is_nothrow_move_constructible_v<Out>,
                  "infeed::map: the function returns what can't be an element: an element must be "
                  "movable without throwing");
    if constexpr (std::is_nothrow_move_constructible_v<Out>) {
      ElementwiseSpec spec{.name = "map",
                           .signature = versioned_signature("map", options.version),
                           .out_type = &type_info<Out>()};
      spec.kernel = &map_kernel<Element, F>;
      spec.function = function;
      spec.has_parallelism = true;
      spec.parallelism = options.parallelism;
      spec.ordered = options.ordered;
      spec.guard = options.guard;
      if constexpr (Call::kRandom) spec.seeds = given_or_random(options.seed);
      return Dataset<Out>(make_elementwise(std::move(spec), input.node()));
    } else {
      return refused();
    }
  }
};

}  // namespace detail

template <class F>
auto map(F function, MapOptions options) {
  return named_stage(options.name, detail::MapStageFactory<F>{
                                       std::make_shared<const F>(std::move(function)), options});
}

}  // namespace infeed
