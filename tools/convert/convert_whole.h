#pragma once

#include <functional>

#include "convert/conversion_plan.h"
#include "convert/convert.h"

namespace infeed::tools {

class ShardWorkers;

/// Lets the shards be made: ShardWorkers::run(), and what other ranks have to know meanwhile.
using RunWorkers = std::function<void(ShardWorkers&)>;

/// Makes or finishes the whole dataset, whose folder exists: convert() without `share`.
ConvertResult convert_whole(const ExampleInput& input, const ConvertOptions& options,
                            const DatasetNames& names, const ConversionPlan& plan,
                            const RunWorkers& run_workers);

}  // namespace infeed::tools
