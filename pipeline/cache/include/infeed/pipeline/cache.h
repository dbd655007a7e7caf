#pragma once

#include <concepts>
#include <type_traits>

#include <infeed/pipeline/dataset.h>

namespace infeed {

/// Why: expensive reading and decoding is done once; every later pass copies the elements from
/// memory (about 1 ns an element plus the copy).
///
///     infeed::records("train-*.tfrecord") | infeed::parse<Sample>(schema) | infeed::cache()
///         | infeed::shuffle({.buffer = 10'000}) | infeed::repeat(10)
///
/// The first complete pass fills the cache. A pass is complete when it reaches the end of its
/// input, or when it has taken as many elements as the input is known to have and no more come.
/// (The last element waits for that.) A pass that stops earlier leaves nothing, nor does one with
/// an error that may pass (unavailable, deadline_exceeded), even if skip_errors left it out before
/// the cache; other errors are kept like elements and come in every pass. The content belongs to
/// the dataset's description: all its iterators, at once or one after the other, read the same
/// content. Iterators that start before it is complete each fill their own, and the first complete
/// one stays.
///
/// The stages before the cache always run as in pass 0, so the content doesn't depend on which pass
/// filled it: a shuffle before the cache gives one order for ever. Put shuffles and random
/// augmentation after it.
///
/// Stages before a cache in an inner dataset may draw by the seed of the flat_map or interleave
/// around it. Then it keeps the content of the latest run's seed. Runs with different seeds at the
/// same time, as one that resumes, each get their own elements, but make them again and again.
///
/// Memory: the whole content counts in each iterator while its pass fills or reads it. If the limit
/// has no room, a terminal Error (resource_exhausted) says what to do. A resumed iteration reads
/// the rest of its pass uncached and fills the cache in the next pass. If memory is too small, use
/// infeed::cache({.path = ...}) in file_cache.h.
inline auto cache();
/// Caches in memory, with a name: infeed::cache(infeed::StageOptions{.name = "decoded"}). The type
/// must be spelt out, since cache({...}) is the cache in files.
template <std::same_as<StageOptions> Options>
auto cache(Options options);

// Only the library reads what follows.
namespace detail {

enum class CacheUse { always, as_tuned };

NodePointer make_memory_cache(NodePointer input, CacheUse use = CacheUse::always);

struct MemoryCacheStageFactory {
  using ComposesAsStage = void;
  template <class T>
  Dataset<T> operator()(const Dataset<T>& input) const {
    static_assert(std::is_copy_constructible_v<T>,
                  "infeed::cache: each pass copies the elements out, so they must be copyable");
    return Dataset<T>(make_memory_cache(input.node()));
  }
};

}  // namespace detail

template <std::same_as<StageOptions> Options>
auto cache(Options options) {
  return named_stage(options.name, detail::MemoryCacheStageFactory{});
}
inline auto cache() { return cache(StageOptions{}); }

}  // namespace infeed
