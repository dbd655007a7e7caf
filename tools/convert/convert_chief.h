#pragma once

#include <functional>
#include <set>

#include "convert/convert.h"
#include "convert/convert_whole.h"
#include "convert/rank_talk.h"

namespace infeed::tools {

/// Makes a dataset, with these options and this for its workers.
using ConvertWith = std::function<ConvertResult(const ConvertOptions&, const RunWorkers&)>;

/// Rank 0's part of a call: hands out, works itself, and finishes. `lost` are the ranks that are lost,
/// before and after. `all_have_joined`: false if a rank may come later and isn't to be watched before.
ConvertResult lead_conversion(const RankCall& call, const ConvertOptions& options,
                              const ConvertWith& convert, std::set<int>& lost,
                              bool all_have_joined);

}  // namespace infeed::tools
