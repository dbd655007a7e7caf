#include "infeed/pipeline/detail/seeds.h"

#include <random>

namespace infeed {

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

Seeds given_or_random(std::optional<std::uint64_t> seed) {
  return {.seed = seed ? *seed : random_seed(), .drawn = !seed};
}

namespace detail {

Seeds choose_seeds(std::optional<std::uint64_t> seed, std::optional<std::uint64_t> global_seed,
                   std::uint64_t drawing_before) {
  constexpr std::uint64_t kModulus = (std::uint64_t{1} << 31) - 1;
  constexpr std::uint64_t kDefaultGlobal = 87654321;
  // Far from the small numbers that people choose, and 0 for the first stage.
  constexpr std::uint64_t kSpread = 0x9E3779B1;  // 2^32 / golden ratio
  if (!seed && !global_seed) return {random_seed() | 1, random_seed(), true};
  Seeds pair{global_seed.value_or(kDefaultGlobal) % kModulus,
             seed.value_or(drawing_before * kSpread) % kModulus};
  if (pair.seed == 0 && pair.seed2 == 0) pair.seed2 = kModulus;
  return pair;
}

std::uint64_t count_drawing(const Node& node) {
  const std::optional<Seeds> seeds = node.seeds();
  std::uint64_t count = seeds && !seeds->inner ? 1 : 0;
  for (const NodePointer& input : node.inputs()) count += count_drawing(*input);
  return count;
}

Philox pass_generator(const Seeds& seeds, std::uint64_t epoch, bool reshuffle_each_iteration) {
  if (!reshuffle_each_iteration) return Philox(seeds.seed, seeds.seed2);
  const Philox epochs(seeds.seed, seeds.seed2);
  return Philox(epochs.at(2 * epoch), epochs.at(2 * epoch + 1));
}

}  // namespace detail
}  // namespace infeed
