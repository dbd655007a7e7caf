#pragma once

#include "row.h"

namespace infeed::compare {

/// Images a second that two plain loops make ready for training, one on each core at the same time:
/// what a person would write by hand with libjpeg-turbo for photographs that lie in memory. Each
/// decodes a random crop only (skipped rows, cropped columns), resizes it with a triangle filter in
/// vectors of floats, mirrors half of them, normalises, and writes float batches of 128 that it
/// overwrites. There is no order between the two, no resume, no limit and no text of an error, and
/// nothing of infeed in it.
double two_image_loops_rate(const RunOptions& options);

}  // namespace infeed::compare
