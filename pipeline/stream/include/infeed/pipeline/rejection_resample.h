#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/dataset.h>

namespace infeed {

struct ResampleOptions {
  /// The share of each class 0, 1, ... in the output. Shares add up to 1, within 0.01.
  std::vector<double> target = {};
  /// The share of each class in the input, if known. If empty, it is estimated from the classes
  /// seen so far.
  std::vector<double> initial = {};
  /// If not given, a random seed is drawn when the dataset is described.
  std::optional<std::uint64_t> seed = std::nullopt;
  StageName name = {};  ///< as in StageOptions
};

/// Evens out classes that come too often, or gives them any other shares. It needs no knowledge of
/// the data and holds no elements: random elements of too frequent classes are left out.
///
///     struct Sample { int label; };
///     infeed::Dataset<Sample> balance(const infeed::Dataset<Sample>& samples) {
///       return samples | infeed::rejection_resample(&Sample::label,
///                                                   {.target = {0.5, 0.5},
///                                                    .initial = {0.99, 0.01}, .seed = 7});
///     }
///
/// The output is the kept elements, unchanged and in order; TensorFlow gives pairs (class,
/// element). `class_of` returns an element's class, 0 to n-1 for n shares in `target`. With
/// ratio(c) = target[c] / initial[c], an element of class c is kept with probability ratio(c) /
/// (the greatest ratio). So the rarest class relative to its target is kept whole, and about 1 /
/// (the greatest ratio) of all elements are kept. A class with a target of 0 never comes.
///
/// Without `initial`, the classes counted so far in this pass replace it. The element itself is
/// included, and each class counts from 1, so no class seems absent. The first few hundred elements
/// therefore follow `target` only roughly. A class that has a target but never comes leaves ever
/// fewer of the others: give it 0. (TensorFlow looks at blocks of 32 and counts from 10.)
///
/// TensorFlow also mixes in part of its input untouched, which wastes fewer elements but gives some
/// of them twice. Here each comes at most once.
///
/// Order: whether an element is kept depends on its class, the counts, and a number keyed by (seed,
/// epoch, position), where errors count as positions. After shard the position is that in the
/// stream that the shards share (shard.h). So each epoch keeps other elements and, with `initial`,
/// the number of hosts doesn't matter.
///
/// Errors: a failed element stays in its place. An exception of `class_of` takes the element's
/// place, and so does an Error(invalid_argument) for a class without a share in `target`; neither
/// is counted. Bad shares throw Error(invalid_argument) when the dataset is described.
///
/// A resume calls `class_of` for all elements that it passes over.
///
/// Thread-safety: each iterator calls `class_of` as const from one thread at a time. Several
/// iterators may call it at once, so it must not change shared data.
template <class F>
auto rejection_resample(F class_of, ResampleOptions options);

// Only the library reads what follows.
namespace detail {

NodePointer make_rejection_resample(
    const ResampleOptions& options, std::shared_ptr<const void> function,
    std::int64_t (*class_of)(const void* function, const void* element), NodePointer input);

template <class F, class T>
inline constexpr bool kGivesAClass = requires {
  requires std::is_integral_v<std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>> ||
      std::is_enum_v<std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>>;
};

template <class F>
struct RejectionResampleStageFactory {
  using ComposesAsStage = void;
  std::shared_ptr<const F> class_of;
  ResampleOptions options;

  template <class T>
  Dataset<T> operator()(const Dataset<T>& input) const {
    static_assert(kGivesAClass<F, T>,
                  "infeed::rejection_resample: class_of must be callable as const with const T&, "
                  "and return an integer or an enumerator: the class, from 0 on");
    if constexpr (kGivesAClass<F, T>) {
      const auto call = [](const void* function, const void* element) {
        return static_cast<std::int64_t>(
            std::invoke(*static_cast<const F*>(function), *static_cast<const T*>(element)));
      };
      return Dataset<T>(make_rejection_resample(options, class_of, call, input.node()));
    } else {
      return input;  // so that the compiler reports only the assertion
    }
  }
};

}  // namespace detail

template <class F>
auto rejection_resample(F class_of, ResampleOptions options) {
  return named_stage(options.name, detail::RejectionResampleStageFactory<F>{
                                       std::make_shared<const F>(std::move(class_of)), options});
}

}  // namespace infeed
