#pragma once

#include <infeed/pipeline/interleave.h>

#include "engine/threads/thread_budget.h"

namespace infeed::detail {

struct InterleaveThreads {
  ThreadShare outer;
  ThreadShare readers;
};

/// Makes the parallel running form. The caller opens `input`.
std::unique_ptr<Stage> make_parallel_interleave(const StageContext& context,
                                                const InterleaveSpec& spec,
                                                const TypeInfo& outer_type,
                                                std::unique_ptr<Stage> input,
                                                InterleaveThreads threads);

}  // namespace infeed::detail
