#pragma once

#include <chrono>

#include <infeed/communicator.h>
#include <infeed/convert/example_input.h>

#include "convert/convert.h"

namespace infeed::tools {

/// convert() by all ranks of a job that see the same input and output folder: rank 0 hands out the
/// shards, one at a time, also to itself, and writes the manifest. The bytes are those of one
/// process. Every rank calls it with the same arguments; rank 0 returns the result, the others that
/// without shards.
///
/// Errors: convert()'s; failed_precondition if the ranks' plans differ; unavailable, with its number,
/// if a rank gave no sign of life for the limit. After an error at one rank the caller must end the
/// job (Communicator::abort()). Finished shards stay: the next call of any number of ranks goes on.
ConvertResult convert_together(const ExampleInput& input, const ConvertOptions& options,
                               Communicator& ranks,
                               std::chrono::nanoseconds silence_max = std::chrono::seconds(4));

}  // namespace infeed::tools
