#pragma once

#include <array>
#include <cstdint>
#include <limits>

/// Why: Philox4x32-10 is counter-based: the n-th number is a function of (key, n), so a stream can
/// be entered anywhere. That makes shuffles resumable, and random augmentation independent of
/// threads. It gives bit for bit the numbers of TensorFlow's generator (and of Salmon et al.,
/// SC'11).
///
/// Thread-safety: a plain value; nothing is shared.
namespace infeed {

/// Generates the words of Philox(seed, seed2): key = seed, counter = {0, 0, seed2}.
class Philox {
 public:
  using result_type = std::uint32_t;

  Philox() : Philox(0, 0) {}
  Philox(std::uint64_t seed, std::uint64_t seed2)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        stream_{static_cast<std::uint32_t>(seed2), static_cast<std::uint32_t>(seed2 >> 32)} {}

  /// Returns the next word.
  std::uint32_t operator()() {
    const std::uint32_t lane = static_cast<std::uint32_t>(position_ & 3);
    if (lane == 0) block_ = block(position_ >> 2);
    ++position_;
    return block_[lane];
  }

  /// Moves to word `position`; the next call returns it.
  void seek(std::uint64_t position) {
    position_ = position;
    if ((position & 3) != 0) block_ = block(position >> 2);
  }
  std::uint64_t position() const { return position_; }

  /// Returns word `position` without moving.
  std::uint32_t at(std::uint64_t position) const { return block(position >> 2)[position & 3]; }
  /// Returns 64 bits: word 2 * position and the one after it.
  std::uint64_t word_pair(std::uint64_t position) const {
    return (std::uint64_t{at(2 * position + 1)} << 32) | at(2 * position);
  }

  /// Returns the four words 4*index .. 4*index+3.
  std::array<std::uint32_t, 4> block(std::uint64_t index) const {
    std::array<std::uint32_t, 4> counter{static_cast<std::uint32_t>(index),
                                         static_cast<std::uint32_t>(index >> 32), stream_[0],
                                         stream_[1]};
    std::uint32_t key0 = key_[0];
    std::uint32_t key1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
      counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0,
                 static_cast<std::uint32_t>(product1),
                 static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1,
                 static_cast<std::uint32_t>(product0)};
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    return counter;
  }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  /// For code that computes many blocks at once.
  struct State {
    std::array<std::uint32_t, 2> key;
    std::array<std::uint32_t, 2> stream;
  };
  State state() const { return {key_, stream_}; }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 2> stream_;
  std::uint64_t position_ = 0;
  std::array<std::uint32_t, 4> block_{};
};

/// The random numbers of a user's function. They are keyed by the stage's seed, the pass and the
/// element's position, so an element gets the same numbers at any thread count and after any
/// resume. It works with the distributions of `<random>`; its own helpers give the same values on
/// every platform.
///
///     infeed::map([](const Image& image, infeed::Rng& rng) { return crop(image, rng.below(5)); },
///                 {.seed = 7})
class Rng {
 public:
  using result_type = std::uint32_t;

  Rng(std::uint64_t seed, std::uint64_t epoch, std::uint64_t position)
      : words_(seed ^ (epoch * 0x9E3779B97F4A7C15ULL), position) {}

  result_type operator()() { return words_(); }
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  /// Returns a number in 0 .. bound-1, all equally likely (to 1 in 2^32). `bound` >= 1.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((std::uint64_t{words_()} * bound) >> 32);
  }
  /// Returns 0 <= x < 1 with 24 random bits.
  float uniform() { return static_cast<float>(words_() >> 8) * 0x1p-24F; }
  /// Returns low <= x < high.
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// Returns true with this probability.
  bool chance(float probability) { return uniform() < probability; }

 private:
  Philox words_;
};

}  // namespace infeed
