#pragma once

#include <cstdint>
#include <vector>

#include <infeed/device/tape.h>

/// Why: layers are made of these operations (losses: losses.h). Each has its gradient, which the
/// tests compare with the numerical one.
///
///     infeed::TapeValue hidden_of(infeed::Tape& tape, const infeed::TapeValue& images,
///                                 const infeed::Variable& kernel, const infeed::Variable& bias) {
///       namespace nn = infeed::nn;
///       return nn::relu(tape, nn::dense(tape, images, tape.read(kernel), tape.read(bias)));
///     }
///
/// Images are [examples, height, width, channels], sequences [examples, tokens, features]; the
/// number of examples may be 0. Operands of products are rounded to the tape's precision.
/// Errors: invalid_argument with both shapes; also for ids out of range, with their place.
namespace infeed::nn {

/// Multiplies x [..., k] by w [k, n].
TapeValue matrix_product(Tape& tape, const TapeValue& x, const TapeValue& w);
/// matrix_product() plus bias [n].
TapeValue dense(Tape& tape, const TapeValue& x, const TapeValue& kernel, const TapeValue& bias);

enum class Padding : std::uint8_t {
  same,   ///< pads with zeros: ceil(pixels / stride) windows an axis, as in TensorFlow
  valid,  ///< only windows that lie inside
};
struct ConvolutionOptions {
  std::int64_t stride = 1;
  Padding padding = Padding::same;
};
/// Applies a window [height, width, in, out] every `stride` pixels, plus bias [out].
TapeValue convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                      const TapeValue& bias, ConvolutionOptions options = {});
/// The same without a bias, for use before a batch norm.
TapeValue convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                      ConvolutionOptions options = {});
/// Filters each channel by itself: a kernel [height, width, in, multiplier] makes channel c into
/// channels c * multiplier, ..., (c + 1) * multiplier - 1, as tf.nn.depthwise_conv2d does. No bias.
TapeValue depthwise_convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                                ConvolutionOptions options = {});
/// Takes the largest of each size x size block. Rows and columns that don't fill a block are left
/// out.
TapeValue max_pool(Tape& tape, const TapeValue& images, std::int64_t size);
TapeValue average_pool(Tape& tape, const TapeValue& images, std::int64_t size);
/// Averages all pixels or tokens of an example: [examples, ..., features] to [examples, features].
TapeValue average_of_rows(Tape& tape, const TapeValue& x);

TapeValue add(Tape& tape, const TapeValue& a, const TapeValue& b);
/// Adds the same table to each example: [..., a, b] + [a, b].
TapeValue add_table(Tape& tape, const TapeValue& x, const TapeValue& table);
TapeValue scale(Tape& tape, const TapeValue& x, float factor);
TapeValue reshape(Tape& tape, const TapeValue& x, const Shape& shape);
TapeValue relu(Tape& tape, const TapeValue& x);
TapeValue tanh(Tape& tape, const TapeValue& x);
TapeValue sigmoid(Tape& tape, const TapeValue& x);
/// x / 2 * (1 + erf(x / sqrt 2)), the exact form.
TapeValue gelu(Tape& tape, const TapeValue& x);
/// Scaled dot products of `heads` heads side by side. All arguments are [examples, tokens,
/// features].
TapeValue attention(Tape& tape, const TapeValue& q, const TapeValue& k, const TapeValue& v,
                    std::int64_t heads);
/// While training, sets items to zero with probability `rate` and divides the rest by 1 - rate;
/// otherwise returns x. Philox draws the zeros by the tape's seed, step and replica, and by the
/// number of draws before it on the tape.
TapeValue dropout(Tape& tape, const TapeValue& x, double rate);
/// Picks rows of table [rows, features]. The ids, whole numbers, may have any shape.
TapeValue embedding(Tape& tape, const TapeValue& table, const TapeValue& ids);
/// Takes `count` items of the last axis, from `begin` on.
TapeValue take_columns(Tape& tape, const TapeValue& x, std::int64_t begin, std::int64_t count);
/// Joins parts side by side along the last axis; all other extents must be equal.
TapeValue join_columns(Tape& tape, const std::vector<TapeValue>& parts);
/// (x - mean) / sqrt(variance + epsilon) * gain + offset over the last axis.
TapeValue layer_norm(Tape& tape, const TapeValue& x, const TapeValue& gain, const TapeValue& offset,
                     float epsilon);

/// The running statistics of a batch normalisation layer, and its options.
struct BatchStatistics {
  Variable mean;
  Variable variance;
  float momentum = 0.99F;  ///< share of the old mean that stays each step
  float epsilon = 1e-3F;
  bool synchronised = false;  ///< sums go over the tape's collective
};
/// The same formula over all other axes. While training it takes the batch's statistics, which also
/// update the running ones (Tape::updates()); otherwise it takes the running ones.
TapeValue batch_norm(Tape& tape, const TapeValue& x, const TapeValue& gain, const TapeValue& offset,
                     const BatchStatistics& statistics);

}  // namespace infeed::nn
