#pragma once

#include <concepts>
#include <type_traits>

#include <infeed/pipeline/dataset.h>

namespace infeed {

/// Why: what costs much to read and decode is done once; every later pass copies it from memory
/// (about 1 ns an element, and what a copy costs).
///
///     infeed::records("train-*.tfrecord") | infeed::parse<Sample>(schema) | infeed::cache()
///         | infeed::shuffle({.buffer = 10'000}) | infeed::repeat(10)
///
/// It is filled by the first pass that goes to the end of its input (or takes as many elements as
/// the input is known to have and no more come behind them, for which the last one waits); a pass
/// that stops before leaves nothing. The content belongs to the description: all iterators of the
/// dataset, at once or one after the other, read the same. Those that start before it is complete
/// each fill one of their own, and the first complete one stays. Errors are kept like elements and
/// are there in every pass.
///
/// The stages before it always run as in pass 0, so the content does not depend on who filled it: a
/// shuffle before the cache gives one order for ever. Put shuffles and random augmentation behind.
///
/// Memory: the whole content is counted in each iterator while its pass fills or reads it. When the
/// limit has no room, a terminal Error (resource_exhausted) says what to do. A resumed iteration
/// reads the rest of its pass uncached and fills the cache in the next. For more than memory holds:
/// infeed::cache({.path = ...}) in file_cache.h.
inline auto cache();
/// With a name: infeed::cache(infeed::StageOptions{.name = "decoded"}). The type is spelt out, as
/// cache({...}) is the one in files.
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
