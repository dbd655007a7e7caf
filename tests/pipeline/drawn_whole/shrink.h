#pragma once

#include "pipeline/drawn_whole/drawn_case.h"

namespace infeed::test {

/// Prints smaller and smaller plans that still fail, found by leaving out stages and making numbers
/// simple, and in the end the command that repeats the smallest one. Each is tried with `tries`
/// different draws of everything else in a separate process.
void print_shrunk(const CaseOptions& options, const DrawnCase& failing, int tries);

}  // namespace infeed::test
