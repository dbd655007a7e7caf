#pragma once

#include <infeed/pipeline/interleave.h>

namespace infeed::detail {

/// The running form with threads; `input` is opened by the caller.
std::unique_ptr<Stage> make_parallel_interleave(const StageContext& context,
                                                const InterleaveSpec& spec,
                                                const TypeInfo& outer_type,
                                                std::unique_ptr<Stage> input);

}  // namespace infeed::detail
