#pragma once

#include "pipeline/drawn_whole/drawn_case.h"

namespace infeed::test {

/// Returns a smaller plan that still fails, found by leaving out stages and making numbers simple.
/// Each is tried with `tries` different draws of everything else in a separate process.
Plan shrunk(const CaseOptions& options, const DrawnCase& failing, int tries);

}  // namespace infeed::test
