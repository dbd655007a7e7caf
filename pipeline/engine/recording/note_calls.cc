#include "engine/recording/note_calls.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
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

std::uint64_t step_between_looks(std::uint64_t count) {
  constexpr std::uint64_t kLooks = 8;
  return std::max<std::uint64_t>(1, count / kLooks);
}

bool are_neighbours(const RecordPlace& first, std::uint64_t count, std::uint64_t step,
                    const PlaceOf& place_of) {
  const auto follows = [&](std::uint64_t i) {
    const std::optional<RecordPlace> place = place_of(i).place;
    return place && place->file == first.file && place->count == first.count &&
           place->record == first.record + i * first.count;
  };
  if (count > 1 && !follows(count - 1)) return false;
  for (std::uint64_t i = step; i + 1 < count; i += step) {
    if (!follows(i)) return false;
  }
  return true;
}

namespace {

TracedPlace joined_places(std::uint64_t count, std::uint64_t step, const PlaceOf& place_of) {
  TracedPlace first = place_of(0);
  if (count <= 1 || !first.place) return first;
  if (are_neighbours(*first.place, count, step, place_of)) {
    first.place->count *= count;
    return first;
  }
  return TracedPlace::unknown(
      fmt::format("it is one of {} elements whose records are no neighbours, from {} record {} on",
                  count, first.place->file, first.place->record));
}

}  // namespace

TracedPlace trace_range(const Stage& stage, std::uint64_t position, std::uint64_t count) {
  return joined_places(count, step_between_looks(count),
                       [&](std::uint64_t i) { return stage.trace(position + i); });
}

TracedPlace trace_rows(const IteratorContext& run, std::uint64_t rows, const PlaceOf& trace) {
  if (rows == 0) return TracedPlace::unknown("it is no batch, or lies too far back");
  if (!run.traces()) return joined_places(rows, step_between_looks(rows), trace);
  std::vector<TracedPlace> places;
  for (std::uint64_t row = 0; row < rows; ++row) places.push_back(trace(row));
  TracedPlace place = joined_places(rows, 1, [&](std::uint64_t row) { return places[row]; });
  place.rows = std::move(places);
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

void note_places(const IteratorContext& run, PlaceLog& places, std::uint64_t position,
                 std::uint64_t count, const Stage& input, std::uint64_t input_position) {
  if (run.traces()) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const TracedPlace one = input.trace(input_position + i);
      if (one.place) places.add(position + i, 1, *one.place);
    }
    return;
  }
  int traces_left = 32;
  note_places(places, position, count, input, input_position, traces_left);
}

TracedPlace traced_through(const PositionLog& kept, std::uint64_t position, const Stage& input) {
  const auto inputs = kept.find(position);
  if (!inputs) return TracedPlace::unknown("it lies too far back");
  return trace_range(input, inputs->position, inputs->count);
}

}  // namespace infeed::detail
