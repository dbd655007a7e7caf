#pragma once

#include <cstdint>
#include <optional>

#include <infeed/pipeline/dataset.h>

namespace infeed {

struct RandomIntegersOptions {
  /// If neither seed is given, a random one is drawn when the source is described.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// TensorFlow's tf.random.set_seed, for numbers that must equal another program's, as in
  /// ShuffleOptions.
  std::optional<std::uint64_t> global_seed = std::nullopt;
  /// If true, each pass has other numbers.
  bool rerandomize_each_iteration = false;
  StageName name = {};  ///< as in StageOptions
};

/// Gives random numbers 0 .. 2^32-1, all equally likely, without an end. They are the numbers of
/// tf.data.Dataset.random with the same seeds. Skipping costs nothing.
///
///     infeed::random_integers({.seed = 7}) | infeed::take(100)
Dataset<std::int64_t> random_integers(RandomIntegersOptions options = {});

}  // namespace infeed
