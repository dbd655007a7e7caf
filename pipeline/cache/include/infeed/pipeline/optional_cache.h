#pragma once

#include <concepts>
#include <type_traits>

#include <infeed/pipeline/cache.h>

namespace infeed {

/// Why: a cache in memory may be the best choice, or hold gigabytes in vain because the device is
/// slower. This stage marks a place for a cache; the tuner decides.
///
///     auto batches = infeed::records("train-*.tfrecord") | infeed::parse<Sample>(schema)
///                  | infeed::optional_cache() | infeed::shuffle({.buffer = 10'000})
///                  | infeed::repeat() | infeed::batch(128) | infeed::prefetch();
///
///     // 4.1 s  optional_cache off -> on: the stages before it take 2.3 us an element, and to keep
///     //        a pass about 48 MB; predicted +180 %, got +171 %, kept
///
/// It hands its elements through until the tuner has seen a whole pass. The tuner turns it on if
/// keeping the elements should bring a fifth more speed, and they fit into three quarters of the
/// memory. The next pass then fills the cache, and later passes read it. The tuner turns it off
/// again if it brings less than expected, or if memory becomes short; its content is freed with the
/// pass that reads it. If there is no room after all, or another stage needs the room while a pass
/// fills the cache, the pass goes on without it, and no error comes of that.
///
/// The elements are the same with and without the cache: the stages before it always run as in pass
/// 0, as with cache(). So put shuffles and random augmentation after it, and before it only
/// functions that give the same result each time.
///
/// A tuner that is off, or only advises, keeps nothing. TunerOptions::bounds with KnobKind::cache
/// and .min = 1 keeps as cache() does, .max = 0 never. A profile (tuning.h) can turn it on from the
/// start. In inner datasets (of interleave and flat_map) it only hands through.
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
