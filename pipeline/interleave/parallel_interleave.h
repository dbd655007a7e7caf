#pragma once

#include <infeed/pipeline/interleave.h>

#include "engine/threads/thread_budget.h"

namespace infeed::detail {

struct InterleaveThreads {
  ThreadShare outer;
  ThreadShare readers;
};

/// The running form with threads; `input` is opened by the caller.
std::unique_ptr<Stage> make_parallel_interleave(const StageContext& context,
                                                const InterleaveSpec& spec,
                                                const TypeInfo& outer_type,
                                                std::unique_ptr<Stage> input,
                                                InterleaveThreads threads);

}  // namespace infeed::detail
