#include "engine/recording/note_calls.h"

#include <utility>

namespace infeed::detail {

void note_calls(const IteratorContext& run, StageCounters& counters, CallWatch& watch,
                const Recorder::Elements& elements, const Stage& input) {
  const OwnTime time = watch.end();
  if (elements.count == 0) return;
  counters.note_call(time.ticks, elements.count);
  if (!run.recorder()->is_slow(time)) return;
  TracedPlace traced = input.trace(elements.position);
  if (traced.place) traced.place->count = elements.count;
  run.recorder()->note_slow(counters, time, elements, std::move(traced));
}

TracedPlace traced_through(const PositionLog& kept, std::uint64_t position, const Stage& input) {
  const auto inputs = kept.find(position);
  if (!inputs) return TracedPlace::unknown("it lies too far back");
  TracedPlace traced = input.trace(inputs->position);
  if (traced.place) traced.place->count = inputs->count;
  return traced;
}

}  // namespace infeed::detail
