#pragma once

#include <cstdint>
#include <span>

#include <infeed/device/tape.h>

/// Why: what layers and losses are made of. Every one knows its gradient, which the tests compare
/// with the numerical one.
///
///     infeed::Value loss_of(infeed::Tape& tape, const infeed::Value& images,
///                           const infeed::Variable& kernel, const infeed::Variable& bias,
///                           std::span<const std::int32_t> labels) {
///       namespace nn = infeed::nn;
///       infeed::Value logits =
///           nn::dense(tape, images, tape.read(kernel), tape.read(bias));
///       infeed::Value losses = nn::softmax_cross_entropy(tape, logits, labels);
///       return nn::average_loss(tape, losses, 1024);  // examples over all replicas
///     }
///
/// Images are [examples, height, width, channels], sequences [examples, tokens, features]; there
/// may be no examples. Operands of products are rounded as the tape's precision says.
/// Errors: invalid_argument with both shapes; also for labels out of range, with their place.
namespace infeed::nn {

/// x [..., k] by w [k, n].
Value matrix_product(Tape& tape, const Value& x, const Value& w);
/// The same plus bias [n].
Value dense(Tape& tape, const Value& x, const Value& kernel, const Value& bias);
/// A window [height, width, in, out] around each pixel, zeros beyond the edges, plus bias [out].
Value convolution(Tape& tape, const Value& images, const Value& kernel, const Value& bias);
/// The largest of each size x size block; what doesn't fill a block is left out.
Value max_pool(Tape& tape, const Value& images, std::int64_t size);

Value add(Tape& tape, const Value& a, const Value& b);
Value reshape(Tape& tape, const Value& x, const Shape& shape);
Value sum(Tape& tape, const Value& x);
Value relu(Tape& tape, const Value& x);
Value tanh(Tape& tape, const Value& x);
/// x / 2 * (1 + erf(x / sqrt 2)), the exact one.
Value gelu(Tape& tape, const Value& x);
/// Scaled dot products of `heads` heads side by side; all [examples, tokens, features].
Value attention(Tape& tape, const Value& q, const Value& k, const Value& v, std::int64_t heads);
/// -log softmax(logits [examples, classes]) of each label: [examples].
Value softmax_cross_entropy(Tape& tape, const Value& logits, std::span<const std::int32_t> labels);
/// sum / global_batch, so that adding up the replicas' gives the mean however uneven their shares.
Value average_loss(Tape& tape, const Value& losses, std::int64_t global_batch);

}  // namespace infeed::nn
