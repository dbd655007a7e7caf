#pragma once

#include <cstdint>
#include <optional>

#include <infeed/count.h>
#include <infeed/pipeline/dataset.h>

namespace infeed {

/// The buffer of a full shuffle: as large as the input, whatever its size.
inline constexpr std::uint64_t whole_input = std::uint64_t{1} << 62;

struct ShuffleOptions {
  /// The number of elements that each next one is drawn from; at least 1. A buffer as large as the
  /// dataset, or whole_input (TensorFlow's UNKNOWN_CARDINALITY), gives a full shuffle, which needs
  /// a finite input.
  Count buffer;
  /// If neither seed is given, a random one is drawn when the stage is described.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// TensorFlow's tf.random.set_seed, for orders that must equal another program's. Without `seed`
  /// a stage's draws depend on how many drawing stages come before it, so a second shuffle draws
  /// differently from the first. Equal branches (of a zip) draw the same: give them seeds.
  std::optional<std::uint64_t> global_seed = std::nullopt;
  /// If true, each pass (repeat, the next iterate()) has another order.
  bool reshuffle_each_iteration = true;
  StageName name = {};  ///< as in StageOptions
};

/// Decorrelates neighbours: keeps `buffer` elements and hands out a random one of them each time.
/// The order equals tf.data's bit for bit (same seeds, same buffer, unfused from repeat). Pass k
/// draws from words 2k and 2k+1 of Philox(seed, seed2).
///
///     dataset | infeed::shuffle({.buffer = 10'000, .seed = 42}) | infeed::repeat(10)
///
/// If no seed is given, a resume in another process takes the seeds of its checkpoint.
///
/// A split for validation must not come after a shuffle that draws anew: from the second pass on
/// take(n) and skip(n) of it would share elements. Split before it, or keep one order for all passes:
///
///     auto one_order = dataset | infeed::shuffle({.buffer = infeed::whole_input, .seed = 1,
///                                                 .reshuffle_each_iteration = false});
///     auto validation = one_order | infeed::take(1'000);
///     auto training = one_order | infeed::skip(1'000) | infeed::shuffle({.buffer = 10'000, .seed = 2});
///
/// Memory: buffer x element, counted in the iterator's limit. Records stay in the blocks that they
/// were read in, so without a limit a buffer of them holds more: 136 MB for 20,000 images of 784
/// bytes. With IterateOptions::memory_bytes_max each is copied when it comes: 25 MB, and a tenth of
/// the speed.
///
/// Resume: walks the draws backwards to find the buffer's content, and asks the input for just those
/// elements.
inline auto shuffle(ShuffleOptions options);

// Only the library reads what follows.
namespace detail {

NodePointer make_shuffle(const ShuffleOptions& options, NodePointer input);

}  // namespace detail

inline auto shuffle(ShuffleOptions options) {
  return named_stage(options.name, untyped_stage(detail::make_shuffle, options));
}

}  // namespace infeed
