#pragma once

#include <concepts>
#include <type_traits>

#include <infeed/pipeline/cache.h>

namespace infeed {

/// Why: a cache in memory may be the best there is, or hold gigabytes that bring nothing, since the
/// device is the slower one. This says where one may be; the tuner decides.
///
///     auto batches = infeed::records("train-*.tfrecord") | infeed::parse<Sample>(schema)
///                  | infeed::optional_cache() | infeed::shuffle({.buffer = 10'000})
///                  | infeed::repeat() | infeed::batch(128) | infeed::prefetch();
///
///     // 4.1 s  optional_cache off -> on: the stages before it take 2.3 us an element, and to keep
///     //        a pass about 48 MB; predicted +180 %, got +171 %, kept
///
/// It hands its elements through until the tuner, which has seen a whole pass, expects a fifth more
/// from keeping them, and three quarters of the memory have room for them. The pass that begins next
/// fills it; those behind read it. What does not bring what was expected is turned off again, and so is
/// a cache when memory becomes short; what it holds goes with the pass that reads it. Where there is
/// no room after all it goes on without: it is never the reason of an error.
///
/// The elements are the same whether they are kept or not: the stages before it always run as in pass
/// 0, as before cache(). So put shuffles and random augmentation behind it, and only functions before
/// it that give the same each time.
///
/// A tuner that is off, or only advises, keeps nothing. TunerOptions::bounds with KnobKind::cache and
/// .min = 1 keeps as cache() does, .max = 0 never. A profile (tuning.h) begins with it. In inner
/// datasets (of interleave and flat_map) it only hands through.
inline auto optional_cache(StageOptions options = {});

// Only the library reads what follows.
namespace detail {

struct OptionalCacheFactory {
  using ComposesAsStage = void;
  template <class T>
  Dataset<T> operator()(const Dataset<T>& input) const {
    static_assert(std::is_copy_constructible_v<T>,
                  "infeed::optional_cache: a pass may copy the elements out, so they must be "
                  "copyable");
    return Dataset<T>(make_memory_cache(input.node(), CacheUse::as_tuned));
  }
};

}  // namespace detail

inline auto optional_cache(StageOptions options) {
  return named_stage(options.name, detail::OptionalCacheFactory{});
}

}  // namespace infeed
