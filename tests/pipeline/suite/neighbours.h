#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <infeed/pipeline/cache.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/skip_errors.h>

#include "pipeline/suite/random_seed.h"
#include "pipeline/suite/stream.h"

/// Stages that stand behind and in front of a tested stage: those that leave errors out, keep them,
/// or work ahead in threads. Only skip_errors changes the stream.
namespace infeed::test {

enum class Neighbour { none, skip_errors, cache, prefetch, parallel_map };

inline std::string name_of(Neighbour neighbour) {
  switch (neighbour) {
    case Neighbour::none:
      return "nothing";
    case Neighbour::skip_errors:
      return "skip_errors";
    case Neighbour::cache:
      return "cache";
    case Neighbour::prefetch:
      return "prefetch";
    case Neighbour::parallel_map:
      return "a parallel map";
  }
  return {};
}

/// Draws one that elements of type T can pass; a cache only if there is room for one.
template <class T>
Neighbour draw_neighbour(RandomSource& random, bool caches) {
  const auto drawn = static_cast<Neighbour>(random.below(5));
  const bool possible = caches && detail::kIsCopyable<T>;
  return drawn == Neighbour::cache && !possible ? Neighbour::none : drawn;
}

template <class T>
Dataset<T> add_neighbour(const Dataset<T>& dataset, Neighbour neighbour) {
  switch (neighbour) {
    case Neighbour::none:
      break;
    case Neighbour::skip_errors:
      return dataset | skip_errors();
    case Neighbour::cache:
      if constexpr (detail::kIsCopyable<T>) return dataset | cache();
      break;
    case Neighbour::prefetch:
      return dataset | prefetch();
    case Neighbour::parallel_map:
      return dataset | map([](T element) { return element; }, {.parallelism = autotune});
  }
  return dataset;
}

inline bool all_fail(const Slots& slots) {
  return !slots.empty() &&
         std::all_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.fails; });
}
inline Slots without_errors(Slots slots) {
  std::erase_if(slots, [](const Slot& slot) { return slot.fails; });
  return slots;
}

/// True if all elements are errors; a terminal error is no element.
inline bool all_fail(const Stream& stream) {
  return !stream.empty() && std::all_of(stream.begin(), stream.end(), [](const std::string& text) {
    return text.starts_with("! ");
  });
}
inline Stream without_errors(Stream stream) {
  std::erase_if(stream, [](const std::string& text) { return text.starts_with("! "); });
  return stream;
}

}  // namespace infeed::test
