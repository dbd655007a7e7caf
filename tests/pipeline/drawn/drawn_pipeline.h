#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "seeded_random.h"

/// Random pipelines as plain data. Our builder (drawn_pipeline_builder.h), a slow obvious model
/// (drawn_pipeline_model.h), or another process (TensorFlow's tf.data, say) that reads the JSON can
/// run them.
///
/// All elements are integers. The first stage is a source. Each stage's result for an element x:
///
///   range(count, start, step)        start, start + step, ...
///   failing_range(count, modulus, residue)  0, 1, ... of which those fail with x % modulus ==
///                                    residue, with the message "element x is broken"
///   map(multiply, add)               (x * multiply + add) % 1000003
///   map_fails(modulus, residue)      fails if x % modulus == residue ("map refuses x"), else x
///   filter(modulus, residue)         keeps x if x % modulus != residue
///   filter_fails(modulus, residue)   fails if x % modulus == residue ("filter refuses x"), else
///                                    keeps x if x is even
///   take_while(modulus, residue)     ends before the first x with x % modulus == residue
///   scan()                           state = (state + x) % 1000003, from 0; gives the state
///   enumerate(start)                 (number * 1009 + x) % 1000003
///   take(count), skip(count), shard(count, index), repeat(count), unique(), skip_errors(),
///   cache(), prefetch(depth) repeat_take(count)               repeat for ever, then take(count)
///   shuffle(buffer, seed, reshuffle)
///   batch(size, drop_remainder)      h = size of the batch; h = (h * 31 + x) % 1000003 for its
///   rows batch_unbatch(size, drop_remainder) window(size, shift, stride, drop_remainder)  folded
///   as a batch is flat_map(modulus)                10 * x, 10 * x + 1, ... (x % modulus of them)
///   interleave(modulus, cycle_length, block_length)  of the same
///   concatenate(other)               `other` behind it
///   zip(other)                       h = (x * 31 + y) % 1000003
///
/// % is never negative. parallelism and depth change no value.
namespace infeed::test {

struct DrawnStage {
  std::string op;
  std::map<std::string, std::int64_t> parameters = {};
  std::vector<DrawnStage> other = {};  ///< the other pipeline of concatenate and zip

  std::int64_t at(const std::string& name) const { return parameters.at(name); }
};

struct DrawnPipeline {
  std::vector<DrawnStage> stages = {};

  /// {"stages": [{"op": "range", "count": 10, ...}, {"op": "zip", "other": {"stages": [...]}}]}
  std::string to_json() const;
};

/// Draws a source and up to `stages_max` stages.
DrawnPipeline draw_pipeline(SeededRandom& random, int stages_max);

/// Names of all operations that can be drawn.
std::vector<std::string> drawn_operations();

// The arithmetic that all sides share.

inline std::int64_t floor_mod(std::int64_t x, std::int64_t modulus) {
  const std::int64_t rest = x % modulus;
  return rest < 0 ? rest + modulus : rest;
}
inline std::int64_t fold(std::int64_t h, std::int64_t x) {
  return floor_mod(h * 31 + x, 1'000'003);
}

}  // namespace infeed::test
