#pragma once

#include <memory>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::detail {

/// Returns a policy that answers "what if" in a running program (INFEED_TRY=1): once `tuner` has
/// settled, it tries other settings of each knob that the user left open, one after the other, and
/// measures the rate before, with and after each. All are put back, whatever they brought, and
/// `tuner` goes on. The report has a line for each, with the model's prediction:
///
///     4.2 s  map 2 -> 4: a try; predicted +90 %, got +84 %, rolled back
///
/// It tries twice and half the workers, a prefetch's thread, four times its depth, and a memory
/// cache where an optional_cache() stands: nothing can be put into a pipeline that runs.
std::shared_ptr<TuningPolicy> try_settings(std::shared_ptr<TuningPolicy> tuner);

}  // namespace infeed::detail
