#pragma once

#include <cstdint>
#include <span>

#include <infeed/device/tape.h>

/// Why: what layers and losses are made of. Every one knows its gradient, which the tests compare
/// with the numerical one.
///
///     infeed::TapeValue loss_of(infeed::Tape& tape, const infeed::TapeValue& images,
///                           const infeed::Variable& kernel, const infeed::Variable& bias,
///                           std::span<const std::int32_t> labels) {
///       namespace nn = infeed::nn;
///       infeed::TapeValue logits =
///           nn::dense(tape, images, tape.read(kernel), tape.read(bias));
///       infeed::TapeValue losses = nn::softmax_cross_entropy(tape, logits, labels);
///       return nn::average_loss(tape, losses, 1024);  // examples over all replicas
///     }
///
/// Images are [examples, height, width, channels], sequences [examples, tokens, features]; there
/// may be no examples. Operands of products are rounded as the tape's precision says.
/// Errors: invalid_argument with both shapes; also for labels out of range, with their place.
namespace infeed::nn {

/// x [..., k] by w [k, n].
TapeValue matrix_product(Tape& tape, const TapeValue& x, const TapeValue& w);
/// The same plus bias [n].
TapeValue dense(Tape& tape, const TapeValue& x, const TapeValue& kernel, const TapeValue& bias);
/// A window [height, width, in, out] around each pixel, zeros beyond the edges, plus bias [out].
TapeValue convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                      const TapeValue& bias);
/// The largest of each size x size block; what doesn't fill a block is left out.
TapeValue max_pool(Tape& tape, const TapeValue& images, std::int64_t size);

TapeValue add(Tape& tape, const TapeValue& a, const TapeValue& b);
TapeValue reshape(Tape& tape, const TapeValue& x, const Shape& shape);
TapeValue sum(Tape& tape, const TapeValue& x);
TapeValue relu(Tape& tape, const TapeValue& x);
TapeValue tanh(Tape& tape, const TapeValue& x);
/// x / 2 * (1 + erf(x / sqrt 2)), the exact one.
TapeValue gelu(Tape& tape, const TapeValue& x);
/// Scaled dot products of `heads` heads side by side; all [examples, tokens, features].
TapeValue attention(Tape& tape, const TapeValue& q, const TapeValue& k, const TapeValue& v,
                    std::int64_t heads);
/// -log softmax(logits [examples, classes]) of each label: [examples].
TapeValue softmax_cross_entropy(Tape& tape, const TapeValue& logits,
                                std::span<const std::int32_t> labels);
/// sum / global_batch, so that adding up the replicas' gives the mean however uneven their shares.
TapeValue average_loss(Tape& tape, const TapeValue& losses, std::int64_t global_batch);

}  // namespace infeed::nn
