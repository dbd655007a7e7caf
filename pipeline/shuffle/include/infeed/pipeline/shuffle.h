#pragma once

#include <cstdint>
#include <optional>

#include <infeed/count.h>
#include <infeed/pipeline/dataset.h>

namespace infeed {

/// With this buffer a shuffle is as large as its input, whatever that is: a full shuffle.
inline constexpr std::uint64_t whole_input = std::uint64_t{1} << 62;

struct ShuffleOptions {
  /// How many elements the order is drawn from; at least 1. A buffer as large as the dataset, or
  /// whole_input (TensorFlow's UNKNOWN_CARDINALITY), gives a full shuffle, which needs an input
  /// that ends.
  Count buffer;
  /// Without any of the seeds, a random one is drawn when the stage is described.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// TensorFlow's tf.random.set_seed, for orders that must equal another program's. Without
  /// `seed`, a stage draws by how many stages before it draw, too: the first shuffle as ever, the
  /// second otherwise. Alike branches (of a zip) draw alike: give them seeds.
  std::optional<std::uint64_t> global_seed = std::nullopt;
  /// Another order each pass (repeat, the next iterate()), or the same.
  bool reshuffle_each_iteration = true;
  StageName name = {};  ///< as in StageOptions
};

/// Why: decorrelates neighbours: keeps `buffer` elements and hands out one of them at random each
/// time. The order equals tf.data's bit for bit (same seeds, same buffer, unfused from repeat);
/// pass k draws from words 2k and 2k+1 of Philox(seed, seed2).
///
///     dataset | infeed::shuffle({.buffer = 10'000, .seed = 42}) | infeed::repeat(10)
///
/// Without any seed a resume in another process takes the seeds of its checkpoint.
///
/// Memory: buffer x element is counted in the iterator's limit. Resume: the buffer's content is
/// found by walking the draws backwards and asking the input for just those elements.
inline auto shuffle(ShuffleOptions options);

// Only the library reads what follows.
namespace detail {

NodePointer make_shuffle(const ShuffleOptions& options, NodePointer input);

}  // namespace detail

inline auto shuffle(ShuffleOptions options) {
  return named_stage(options.name, untyped_stage(detail::make_shuffle, options));
}

}  // namespace infeed
