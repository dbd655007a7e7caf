#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/fields.h>

namespace infeed {

/// Makes a source of your own from a function that returns the next element. `make` is called once
/// per pass and returns that function. An empty optional is the end.
///
///     infeed::generate([] {
///       return [socket = connect()]() mutable -> std::optional<Message> {
///         return receive(socket);
///       };
///     })
///
/// A `make` that takes a std::uint64_t gets the number of the pass (0, 1, ...), to key seeds by.
/// Several threads may call `make` at once (one per iterator). Each function that it returns is
/// used by one thread at a time.
///
/// An exception of the function is an error in one element's place, and the next call goes on. The
/// terminal Error of an iterator that the function uses is terminal here, too. An exception of
/// `make` is one element's error, and that pass is over. Elements are handed on after 100 us at the
/// latest, so a slow source doesn't hold them back. Skipping calls the function.
template <class Make>
auto generate(Make make, StageOptions options = {});

// Only the library reads what follows.
namespace detail {

struct GenerateSpec {
  const TypeInfo* type;
  std::shared_ptr<const void> make;
  std::shared_ptr<void> (*start)(const void* make, std::uint64_t epoch);
  /// Constructs the next element at `to`. Returns false at the end.
  bool (*next)(void* generator, void* to);
};

NodePointer make_generate(const GenerateSpec& spec);

template <class Make>
auto start_generator(const Make& make, [[maybe_unused]] std::uint64_t epoch) {
  if constexpr (kCallable<Make, std::uint64_t>) {
    return make(epoch);
  } else {
    return make();
  }
}

}  // namespace detail

template <class Make>
auto generate(Make make, StageOptions options) {
  static_assert(detail::kCallable<Make> || detail::kCallable<Make, std::uint64_t>,
                "infeed::generate: give a function that can be called as const without arguments "
                "(or with the number of the pass) and returns the function that gives elements");
  using Generator = decltype(detail::start_generator(std::declval<const Make&>(), 0));
  static_assert(std::is_invocable_v<Generator&>,
                "infeed::generate: what `make` returns must be callable without arguments");
  using Next = std::remove_cvref_t<std::invoke_result_t<Generator&>>;
  static_assert(detail::kIsOptional<Next>,
                "infeed::generate: the function must return std::optional<T>; empty is the end");
  using T = typename Next::value_type;
  detail::GenerateSpec spec{&type_info<T>(), detail::share_function(std::move(make)), nullptr,
                            nullptr};
  spec.start = [](const void* function, std::uint64_t epoch) -> std::shared_ptr<void> {
    return std::make_shared<Generator>(
        detail::start_generator(*static_cast<const Make*>(function), epoch));
  };
  spec.next = [](void* generator, void* to) {
    Next next = (*static_cast<Generator*>(generator))();
    if (!next) return false;
    ::new (to) T(std::move(*next));
    return true;
  };
  return Dataset<T>(detail::named(detail::make_generate(spec), options.name));
}

}  // namespace infeed
