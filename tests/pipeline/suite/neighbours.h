#pragma once

#include <algorithm>
#include <string>

#include "pipeline/suite/stream.h"
#include "seeded_random.h"

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

/// Draws one that elements of this type can pass; a cache only if there is room for one.
Neighbour draw_neighbour(SeededRandom& random, const TypeInfo& type, bool caches);

ShownDataset add_neighbour(const ShownDataset& dataset, Neighbour neighbour);

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
