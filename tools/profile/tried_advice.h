#pragma once

#include <stop_token>

#include "profile/described_pipeline.h"
#include "profile/profile_report.h"

/// Why: advice that nobody has checked is an opinion.
namespace infeed::tools {

/// Makes those of the report's what-ifs that the pipeline's file can say, the best three, one by
/// one: runs the pipeline as it is and changed, by turns, for `seconds` each, and notes the gain
/// (WhatIf::tried_gain) and whether it bears the prediction out. All these runs record, so that they
/// are alike.
void try_advice(const DescribedPipeline& pipeline, double seconds, const std::stop_token& stop,
                ProfileReport& report);

}  // namespace infeed::tools
