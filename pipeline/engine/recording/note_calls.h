#pragma once

#include <functional>

#include "engine/iterator_context.h"
#include "engine/recording/call_watch.h"
#include "engine/recording/place_log.h"

namespace infeed::detail {

/// Ends the watched calls of a function on `elements` of `input`: counts them, and keeps them if
/// they were slow.
void note_calls(const IteratorContext& run, StageCounters& counters, CallWatch& watch,
                std::uint64_t end_ticks, const Recorder::Elements& elements, const Stage& input);
/// Keeps calls that nobody watched, if they were slow: `time` is their part of the watched call
/// around them.
void note_slow_calls(Recorder& recorder, const StageCounters& counters, const OwnTime& time,
                     const Recorder::Elements& elements, const Stage& input);

/// Returns the place of one of some elements.
using PlaceOf = std::function<TracedPlace(std::uint64_t)>;
/// Returns true if `count` elements, of which the first has this place, are neighbours, of as many
/// records each. Looks at the last one and at each `step`th. Behind a shuffle the two ends may lie as
/// neighbours would, with others between them.
bool are_neighbours(const RecordPlace& first, std::uint64_t count, std::uint64_t step,
                    const PlaceOf& place_of);
/// Returns how far those of `count` elements lie apart that are looked at where not each is to be
/// traced: tracing each of many elements would take longer than to make them.
std::uint64_t step_between_looks(std::uint64_t count);
/// Returns the records of `count` elements of a stage from `position` on, if they are neighbours as
/// far as a few of them tell.
TracedPlace trace_range(const Stage& stage, std::uint64_t position, std::uint64_t count);
/// Returns the same for a batch of so many rows; if each is to be traced, also their places one by one.
/// `trace(row)` returns that of a row.
TracedPlace trace_rows(const IteratorContext& run, std::uint64_t rows, const PlaceOf& trace);
/// Returns the same for the element at `position` of a stage that keeps this log of its batches.
TracedPlace trace_rows(const IteratorContext& run, const RowLog& kept, std::uint64_t position,
                       const Stage& input);
/// Keeps where `count` elements from `position` on came from: from elements of `input`, from
/// `input_position` on. Elements whose records are neighbours are kept together, in a few pieces, unless
/// each is to be traced.
void note_places(const IteratorContext& run, PlaceLog& places, std::uint64_t position,
                 std::uint64_t count, const Stage& input, std::uint64_t input_position);
/// Returns the place of an element of a stage that keeps this log of its own.
TracedPlace traced_through(const PositionLog& kept, std::uint64_t position, const Stage& input);

}  // namespace infeed::detail
