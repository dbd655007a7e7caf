#pragma once

#include <cstdint>
#include <optional>

#include <infeed/pipeline/dataset.h>

namespace infeed {

struct GlobalShuffleOptions {
  /// If not given, a random seed is drawn when the stage is described.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// If true, each pass (repeat, the next iterate()) has another order.
  bool reshuffle_each_iteration = true;
  StageName name = {};  ///< as in StageOptions
};

/// Shuffles the whole dataset and holds no elements. Element k of the output is element p(k) of the
/// input, where p is a permutation that is computed, not stored. Skipping and resuming cost
/// nothing, at any size.
///
///     infeed::range(1'000'000'000) | infeed::global_shuffle({.seed = 42})
///                                  | infeed::map(read_sample)
///
/// The input must be indexable: range, slices, indexed_records, and map or enumerate without
/// parallelism after them. Put other stages, and parallel maps, after the shuffle. Other inputs are
/// refused (invalid_argument); use shuffle() for them.
///
/// p is a Feistel network of 6 rounds over bit_width(n - 1) bits, keyed by Philox(seed, pass). It
/// is applied again while the result is n or more (at most once on average).
inline auto global_shuffle(GlobalShuffleOptions options = {});

// Only the library reads what follows.
namespace detail {

NodePointer make_global_shuffle(const GlobalShuffleOptions& options, NodePointer input);

}  // namespace detail

inline auto global_shuffle(GlobalShuffleOptions options) {
  return named_stage(options.name, untyped_stage(detail::make_global_shuffle, options));
}

}  // namespace infeed
