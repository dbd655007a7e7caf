#pragma once

#include <cstdint>
#include <optional>

#include <infeed/pipeline/philox.h>
#include <infeed/pipeline/stage.h>

/// What stages that draw random numbers draw them from.
namespace infeed::detail {

/// Combines the operation's and the program's seed by TensorFlow's rules; without either, they are
/// random. With the program's alone, stages differ by how many stages before them draw.
Seeds choose_seeds(std::optional<std::uint64_t> seed, std::optional<std::uint64_t> global_seed,
                   std::uint64_t drawing_before);

/// Stages up to and with this one that draw random numbers.
std::uint64_t count_drawing(const Node& node);

/// The generator of one pass.
Philox pass_generator(const Seeds& seeds, std::uint64_t epoch, bool reshuffle_each_iteration);

}  // namespace infeed::detail
