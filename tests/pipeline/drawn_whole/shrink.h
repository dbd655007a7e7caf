#pragma once

#include "pipeline/drawn_whole/drawn_case.h"

namespace infeed::test {

/// A smaller plan that still fails, found by leaving out stages and making numbers simple, each tried
/// with `tries` different draws of all else in a process of its own.
Plan shrunk(const CaseOptions& options, const DrawnCase& failing, int tries);

}  // namespace infeed::test
