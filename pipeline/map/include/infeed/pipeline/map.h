#pragma once

#include <functional>
#include <string>

#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/detail/seeds.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed {

struct MapOptions {
  /// So many calls may run at the same time; with 1 the thread that pulls makes them. autotune
  /// takes as many as there are usable cores, and up to 16 when the function blocks (sleeps, reads)
  /// rather than computes.
  int parallelism = 1;
  /// With parallelism, results come in the input's order (the default), or as they are ready.
  bool ordered = true;
  /// Functions that take an Rng draw from it; by default it is drawn once, when the stage is
  /// described. A resume in another process takes the drawn one of its checkpoint.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// A guard, say {.guard = {.retries = 3}}, tries again what is transient and gives up what takes
  /// too long.
  GuardOptions guard = {};
  /// Change it whenever the function changes, which nobody can see from outside: a checkpoint and
  /// the files of a cache that another function has made are then refused.
  std::string version = {};
};

/// Why: calls a function on each element.
///
///     images | infeed::map([](const Image& image) { return decode(image); },
///                          {.parallelism = infeed::autotune})
///
/// A pointer to a member will do as well: infeed::map(&Image::label). The function is called as
/// const, possibly from several threads at once: it must not change what others see. What it throws
/// becomes an error in that element's place. A function that takes an infeed::Rng& as second
/// argument gets a generator keyed by (seed, epoch, position): the same numbers for the same
/// element at any thread count and after any resume. Behind shard it is the position in the stream
/// that the shards share (shard.h), so the number of hosts doesn't matter either.
template <class F>
auto map(F function, MapOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class T, class F>
KernelResult map_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                        const Place& place, ErrorPointer& error) {
  constexpr bool kRandom = !kCallable<F, T&&> && kCallable<F, T&&, Rng&>;
  const F& call = *static_cast<const F*>(function);
  T* __restrict const input = static_cast<T*>(in);
  const auto apply = [&](std::size_t i) -> decltype(auto) {
    if constexpr (kRandom) {
      Rng rng(place.key.seed, place.epoch, place.unsharded(i));
      return std::invoke(call, std::move(input[i]), rng);
    } else {
      return std::invoke(call, std::move(input[i]));
    }
  };
  using Out = std::remove_cvref_t<decltype(apply(0))>;
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
  F function;
  MapOptions options;

  template <class T>
  auto operator()(Dataset<T> input) const {
    constexpr bool kPlain = kCallable<F, T&&>;
    constexpr bool kRandom = kCallable<F, T&&, Rng&>;
    static_assert(kPlain || kRandom,
                  "infeed::map: the function must be callable as const, with the element "
                  "(const T& or T), or with the element and an infeed::Rng&");
    if constexpr (kPlain || kRandom) {
      using Out = std::remove_cvref_t<typename Result<T, kPlain>::type>;
      static_assert(!std::is_void_v<Out>, "infeed::map: the function must return the new element");
      ElementwiseSpec spec{.name = "map",
                           .signature = versioned_signature("map", options.version),
                           .out_type = &type_info<Out>()};
      spec.kernel = &map_kernel<T, F>;
      spec.function = share_function(function);
      spec.parallelism = options.parallelism;
      spec.ordered = options.ordered;
      spec.guard = options.guard;
      if constexpr (!kPlain) {
        spec.seeds = given_or_random(options.seed);
      }
      return Dataset<Out>(make_elementwise(std::move(spec), input.node()));
    }
  }

 private:
  template <class T, bool kPlain>
  struct Result : std::invoke_result<const F&, T&&> {};
  template <class T>
  struct Result<T, false> : std::invoke_result<const F&, T&&, Rng&> {};
};

}  // namespace detail

template <class F>
auto map(F function, MapOptions options) {
  return detail::MapStageFactory<F>{std::move(function), options};
}

}  // namespace infeed
