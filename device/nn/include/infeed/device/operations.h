#pragma once

#include <cstdint>
#include <vector>

#include <infeed/device/tape.h>

/// Why: what layers are made of (losses: losses.h). Every one knows its gradient, which the tests compare
/// with the numerical one.
///
///     infeed::TapeValue hidden_of(infeed::Tape& tape, const infeed::TapeValue& images,
///                                 const infeed::Variable& kernel, const infeed::Variable& bias) {
///       namespace nn = infeed::nn;
///       return nn::relu(tape, nn::dense(tape, images, tape.read(kernel), tape.read(bias)));
///     }
///
/// Images are [examples, height, width, channels], sequences [examples, tokens, features]; there
/// may be no examples. Operands of products are rounded as the tape's precision says.
/// Errors: invalid_argument with both shapes; also for ids out of range, with their place.
namespace infeed::nn {

/// x [..., k] by w [k, n].
TapeValue matrix_product(Tape& tape, const TapeValue& x, const TapeValue& w);
/// The same plus bias [n].
TapeValue dense(Tape& tape, const TapeValue& x, const TapeValue& kernel, const TapeValue& bias);

enum class Padding : std::uint8_t {
  same,   ///< zeros beyond the edges: ceil(pixels / stride) windows an axis, as TensorFlow's
  valid,  ///< windows that lie inside
};
struct ConvolutionOptions {
  std::int64_t stride = 1;
  Padding padding = Padding::same;
};
/// A window [height, width, in, out] every `stride` pixels, plus bias [out].
TapeValue convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                      const TapeValue& bias, ConvolutionOptions options = {});
/// The same without a bias, for what a batch norm follows.
TapeValue convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                      ConvolutionOptions options = {});
/// Each channel by itself: a kernel [height, width, in, multiplier] makes channel c into channels
/// c * multiplier, ..., (c + 1) * multiplier - 1, as tf.nn.depthwise_conv2d does. No bias.
TapeValue depthwise_convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                                ConvolutionOptions options = {});
/// The largest of each size x size block; what doesn't fill a block is left out.
TapeValue max_pool(Tape& tape, const TapeValue& images, std::int64_t size);
TapeValue average_pool(Tape& tape, const TapeValue& images, std::int64_t size);
/// [examples, ..., features] to [examples, features]: of all pixels or tokens of an example.
TapeValue average_of_rows(Tape& tape, const TapeValue& x);

TapeValue add(Tape& tape, const TapeValue& a, const TapeValue& b);
/// The same table for each example: [..., a, b] + [a, b].
TapeValue add_table(Tape& tape, const TapeValue& x, const TapeValue& table);
TapeValue scale(Tape& tape, const TapeValue& x, float factor);
TapeValue reshape(Tape& tape, const TapeValue& x, const Shape& shape);
TapeValue relu(Tape& tape, const TapeValue& x);
TapeValue tanh(Tape& tape, const TapeValue& x);
TapeValue sigmoid(Tape& tape, const TapeValue& x);
/// x / 2 * (1 + erf(x / sqrt 2)), the exact one.
TapeValue gelu(Tape& tape, const TapeValue& x);
/// Scaled dot products of `heads` heads side by side; all [examples, tokens, features].
TapeValue attention(Tape& tape, const TapeValue& q, const TapeValue& k, const TapeValue& v,
                    std::int64_t heads);
/// While training, zeros with probability `rate` and the rest / (1 - rate); else x. Which ones:
/// Philox by the tape's seed, step and replica and by how many stand before it on the tape.
TapeValue dropout(Tape& tape, const TapeValue& x, double rate);
/// Rows of table [rows, features]; the ids, whole numbers, may have any shape.
TapeValue embedding(Tape& tape, const TapeValue& table, const TapeValue& ids);
/// `count` items of the last axis, from `begin` on.
TapeValue take_columns(Tape& tape, const TapeValue& x, std::int64_t begin, std::int64_t count);
/// Parts side by side along the last axis; all other extents are alike.
TapeValue join_columns(Tape& tape, const std::vector<TapeValue>& parts);
/// (x - mean) / sqrt(variance + epsilon) * gain + offset over the last axis.
TapeValue layer_norm(Tape& tape, const TapeValue& x, const TapeValue& gain, const TapeValue& offset,
                     float epsilon);

/// What batch normalisation has in its layer.
struct BatchStatistics {
  Variable mean;
  Variable variance;
  float momentum = 0.99F;  ///< how much of the old mean stays each step
  float epsilon = 1e-3F;
  bool synchronised = false;  ///< over the tape's collective
};
/// The same over all other axes. While training by the batch's statistics, which go into the
/// running ones (Tape::updates()); else by the running ones.
TapeValue batch_norm(Tape& tape, const TapeValue& x, const TapeValue& gain, const TapeValue& offset,
                     const BatchStatistics& statistics);

}  // namespace infeed::nn
