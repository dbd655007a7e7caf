#pragma once

#include "engine/iterator_context.h"
#include "engine/recording/call_watch.h"
#include "engine/recording/place_log.h"

namespace infeed::detail {

/// The watched calls of a function on `elements` of `input` are over: they are counted, and told
/// where they were slow.
void note_calls(const IteratorContext& run, StageCounters& counters, CallWatch& watch,
                const Recorder::Elements& elements, const Stage& input);

/// Of an element of a stage that keeps this log of its own.
TracedPlace traced_through(const PositionLog& kept, std::uint64_t position, const Stage& input);

}  // namespace infeed::detail
