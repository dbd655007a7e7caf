#pragma once

#include "row.h"

namespace infeed::compare {

/// Records a second that two plain loops parse, one on each core at the same time, as a person
/// would write them by hand for record files of one layout. Each reads its half of the files from
/// the page cache in blocks of 256 KiB, checks both checksums, and parses tf.train.Example into
/// dense columns that it empties every 128 records. They have no schema, no text of an error, no
/// order between the two, and nothing of infeed.
///
/// With `viewed`, bytes stay where they were read: their columns are views, which end with the
/// block. `copied` copies each value into its row of a batch, past the caches, as training on the
/// batch needs it: for images of 112 KiB that is a batch of 14 MiB, and the memory's limit.
enum class LoopBytes { viewed, copied };
double two_plain_loops_rate(const RunOptions& options, const char* kind,
                            LoopBytes bytes = LoopBytes::viewed);

}  // namespace infeed::compare
