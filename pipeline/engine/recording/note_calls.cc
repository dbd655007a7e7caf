#include "engine/recording/note_calls.h"

#include <algorithm>
#include <utility>

namespace infeed::detail {

namespace {

void note_slow(Recorder& recorder, const StageCounters& counters, const OwnTime& time,
               const Recorder::Elements& elements, const Stage& input) {
  TracedPlace traced = input.trace(elements.position);
  if (traced.place) traced.place->count = elements.count;
  recorder.note_slow(counters, time, elements, std::move(traced));
}

}  // namespace

void note_calls(const IteratorContext& run, StageCounters& counters, CallWatch& watch,
                std::uint64_t end_ticks, const Recorder::Elements& elements, const Stage& input) {
  const OwnTime time = watch.end(end_ticks);
  if (elements.count == 0) return;
  counters.note_calls(run.recorder()->ns_of(time, elements.count), elements.count, true);
  if (run.recorder()->is_slow(time)) note_slow(*run.recorder(), counters, time, elements, input);
}

void note_slow_calls(Recorder& recorder, const StageCounters& counters, const OwnTime& time,
                     const Recorder::Elements& elements, const Stage& input) {
  WatchedThread* const thread = recorder.this_thread();
  if (thread == nullptr) return;
  // What it called itself last may lie within.
  const std::uint64_t end = time.begin_ticks + time.ticks;
  const std::uint64_t nested_end = thread->last.begin_ticks + thread->last.ticks;
  const std::uint64_t begin = std::clamp(nested_end, time.begin_ticks, end);
  const OwnTime own{begin, end - begin};
  if (!recorder.is_slow(own)) return;
  thread->nested_ticks += own.ticks;
  if (elements.count > 0) note_slow(recorder, counters, own, elements, input);
}

TracedPlace traced_through(const PositionLog& kept, std::uint64_t position, const Stage& input) {
  const auto inputs = kept.find(position);
  if (!inputs) return TracedPlace::unknown("it lies too far back");
  TracedPlace traced = input.trace(inputs->position);
  if (traced.place) traced.place->count = inputs->count;
  return traced;
}

}  // namespace infeed::detail
