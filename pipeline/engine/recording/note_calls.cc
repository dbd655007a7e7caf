#include "engine/recording/note_calls.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace infeed::detail {

namespace {

void note_slow(Recorder& recorder, const StageCounters& counters, const OwnTime& time,
               const Recorder::Elements& elements, const Stage& input) {
  recorder.note_slow(counters, time, elements,
                     trace_range(input, elements.position, elements.count));
}

}  // namespace

void note_calls(const IteratorContext& run, StageCounters& counters, CallWatch& watch,
                std::uint64_t end_ticks, const Recorder::Elements& elements, const Stage& input) {
  const OwnTime time = watch.end(end_ticks);
  if (elements.count == 0) return;
  counters.note_calls(run.recorder()->clock().ns_of(time, elements.count), elements.count, true);
  if (run.recorder()->clock().is_slow(time))
    note_slow(*run.recorder(), counters, time, elements, input);
}

void note_slow_calls(Recorder& recorder, const StageCounters& counters, const OwnTime& time,
                     const Recorder::Elements& elements, const Stage& input) {
  WatchedThread* const thread = recorder.threads().this_thread();
  if (thread == nullptr) return;
  // The last watched call of the thread may lie within `time`.
  const std::uint64_t end = time.begin_ticks + time.ticks;
  const std::uint64_t nested_end = thread->last.begin_ticks + thread->last.ticks;
  const std::uint64_t begin = std::clamp(nested_end, time.begin_ticks, end);
  const OwnTime own{begin, end - begin};
  if (!recorder.clock().is_slow(own)) return;
  thread->accounted_ticks += own.ticks;
  if (elements.count > 0) note_slow(recorder, counters, own, elements, input);
}

TracedPlace trace_range(const Stage& stage, std::uint64_t position, std::uint64_t count) {
  TracedPlace first = stage.trace(position);
  if (count <= 1 || !first.place) return first;
  return joined_places(std::move(first), stage.trace(position + count - 1), count);
}

bool are_ends_of_neighbours(const RecordPlace& first, const RecordPlace& last,
                            std::uint64_t count) {
  return last.file == first.file && last.count == first.count &&
         last.record == first.record + (count - 1) * first.count;
}

TracedPlace joined_places(TracedPlace first, const TracedPlace& last, std::uint64_t count) {
  if (count <= 1 || !first.place) return first;
  const RecordPlace& begin = *first.place;
  if (last.place && are_ends_of_neighbours(begin, *last.place, count)) {
    first.place->count *= count;
    return first;
  }
  return TracedPlace::unknown(
      fmt::format("it is one of {} elements whose records are no neighbours, from {} record {} on",
                  count, begin.file, begin.record));
}

TracedPlace trace_rows(const IteratorContext& run, std::uint64_t rows,
                       const std::function<TracedPlace(std::uint64_t)>& trace) {
  if (rows == 0) return TracedPlace::unknown("it is no batch, or lies too far back");
  // The first row and the last one tell whether all are neighbours.
  const std::uint64_t step = run.traces() ? 1 : std::max<std::uint64_t>(1, rows - 1);
  std::vector<TracedPlace> places;
  for (std::uint64_t row = 0; row < rows; row += step) places.push_back(trace(row));
  TracedPlace place = joined_places(places.front(), places.back(), rows);
  if (run.traces()) place.rows = std::move(places);
  return place;
}

TracedPlace trace_rows(const IteratorContext& run, const RowLog& kept, std::uint64_t position,
                       const Stage& input) {
  return trace_rows(run, kept.rows_of(position), [&](std::uint64_t row) {
    const auto element = kept.find(position, row);
    return element ? input.trace(*element) : TracedPlace::unknown("it lies too far back");
  });
}

namespace {

/// Keeps elements whose records are neighbours together. Halves others, as long as `traces_left`.
void note_places(PlaceLog& places, std::uint64_t position, std::uint64_t count, const Stage& input,
                 std::uint64_t input_position, int& traces_left) {
  if (count == 0 || --traces_left < 0) return;
  TracedPlace all = trace_range(input, input_position, count);
  if (all.place) {
    all.place->count /= count;  // the records of one element
    return places.add(position, count, *all.place);
  }
  if (count == 1) return;
  const std::uint64_t half = count / 2;
  note_places(places, position, half, input, input_position, traces_left);
  note_places(places, position + half, count - half, input, input_position + half, traces_left);
}

}  // namespace

void note_places(PlaceLog& places, std::uint64_t position, std::uint64_t count, const Stage& input,
                 std::uint64_t input_position) {
  int traces_left = 32;
  note_places(places, position, count, input, input_position, traces_left);
}

TracedPlace traced_through(const PositionLog& kept, std::uint64_t position, const Stage& input) {
  const auto inputs = kept.find(position);
  if (!inputs) return TracedPlace::unknown("it lies too far back");
  return trace_range(input, inputs->position, inputs->count);
}

}  // namespace infeed::detail
