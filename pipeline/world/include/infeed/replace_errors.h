#pragma once

#include <cstdint>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

#include <infeed/error.h>
#include <infeed/pipeline/dataset.h>

namespace infeed {

/// Puts an element of yours in the place of each failed one, so that every element keeps its
/// position, whether others fail or not: hosts that share a stream stay in step. skip_errors, which
/// moves all later elements, is for one host.
///
///     infeed::records("train-*.tfrecord") | infeed::parse<Sample>(schema)
///         | infeed::replace_errors([](const infeed::Error& error, std::uint64_t position) {
///             std::printf("element %ju: %s", position, error.what());
///             return Sample{.label = -1};
///           })
///
/// `function` takes the error and the element's position in the stream that all shards share. It is
/// called in the order of the elements, by one thread at a time, also for elements that are read
/// ahead. If it throws, its exception takes the element's place. Terminal errors pass through. A cache
/// behind it keeps nothing that stands for an error that may pass (unavailable, deadline_exceeded).
template <class F>
auto replace_errors(F function, StageOptions options = {});

// Only the library reads what follows.
namespace detail {

/// Constructs the element that stands for an error.
using MakeReplacement =
    std::function<void(void* place, const Error& error, std::uint64_t position)>;

/// The treatment of errors that may pass (unavailable, deadline_exceeded).
enum class PassingErrors : std::uint8_t { are_replaced, end_the_pass };

NodePointer make_replace_errors(MakeReplacement make, NodePointer input,
                                PassingErrors passing = PassingErrors::are_replaced);

template <class F>
struct ReplaceErrorsFactory {
  using ComposesAsStage = void;
  F function;

  template <class T>
  Dataset<T> operator()(const Dataset<T>& input) const {
    static_assert(
        std::is_invocable_r_v<T, const F&, const Error&, std::uint64_t>,
        "infeed::replace_errors: the function can't be called as const with (const "
        "infeed::Error&, std::uint64_t position), or doesn't return the dataset's Element");
    const auto make = [function = function](void* place, const Error& error,
                                            std::uint64_t position) {
      ::new (place) T(function(error, position));
    };
    return Dataset<T>(make_replace_errors(make, input.node()));
  }
};

}  // namespace detail

template <class F>
auto replace_errors(F function, StageOptions options) {
  return named_stage(options.name, detail::ReplaceErrorsFactory<F>{std::move(function)});
}

}  // namespace infeed
