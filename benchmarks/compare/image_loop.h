#pragma once

#include "row.h"

namespace infeed::compare {

/// Returns the images a second that two plain loops make ready for training, one on each core at
/// the same time, as a person would write them by hand with libjpeg-turbo for photographs in
/// memory. Each decodes a random crop only (skipped rows, cropped columns), resizes it with a
/// triangle filter in vectors of floats, mirrors half of them, normalises, and writes float batches
/// of 128 that it overwrites. They have no order between the two, no resume, no limit, no text of
/// an error, and nothing of infeed.
double two_image_loops_rate(const RunOptions& options);

}  // namespace infeed::compare
