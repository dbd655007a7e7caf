#pragma once

#include <cstdint>

#include "convert/conversion_plan.h"
#include "convert/convert.h"
#include "convert/rank_talk.h"

namespace infeed::tools {

/// The part of a call of all ranks but rank 0: makes the shards that rank 0 gives, until the dataset is
/// complete. Returns the flags of Word::end.
std::uint64_t work_for_chief(const RankCall& call, const ExampleInput& input,
                             const ConvertOptions& options, const ConversionPlan& plan);

}  // namespace infeed::tools
