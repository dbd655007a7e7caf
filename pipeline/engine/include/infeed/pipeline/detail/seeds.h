#pragma once

#include <cstdint>
#include <optional>

#include <infeed/pipeline/philox.h>
#include <infeed/pipeline/stage.h>

/// Seeds and generators for stages that draw random numbers.
namespace infeed::detail {

/// Combines the seeds of the operation and the program by TensorFlow's rules. If neither is given,
/// the result is random. If only the program's is given, stages differ by how many drawing stages
/// come before them.
Seeds choose_seeds(std::optional<std::uint64_t> seed, std::optional<std::uint64_t> global_seed,
                   std::uint64_t drawing_before);

/// Returns how many stages draw random numbers, up to and including this one.
std::uint64_t count_drawing(const Node& node);

/// Returns the generator of one pass.
Philox pass_generator(const Seeds& seeds, std::uint64_t epoch, bool reshuffle_each_iteration);

}  // namespace infeed::detail
