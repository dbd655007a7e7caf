#pragma once

#include <cstdint>
#include <span>

#include <infeed/device/tape.h>

/// Why: each loss is one number an example. So replicas with uneven shares can divide their sum by
/// the examples of the global batch.
///
///     infeed::TapeValue loss_of(infeed::Tape& tape, const infeed::TapeValue& logits,
///                               std::span<const std::int32_t> labels) {
///       namespace nn = infeed::nn;
///       infeed::TapeValue losses = nn::softmax_cross_entropy(tape, logits, labels);
///       return nn::average_loss(tape, losses, 1024);  // examples over all replicas
///     }
///
/// Errors: invalid_argument with both shapes, or for a label out of range, with its place.
namespace infeed::nn {

/// Returns -log softmax(logits [examples, classes]) at each label: [examples].
TapeValue softmax_cross_entropy(Tape& tape, const TapeValue& logits,
                                std::span<const std::int32_t> labels);
/// Returns the mean over an example's items of (x - target)^2: [examples].
TapeValue mean_squared_error(Tape& tape, const TapeValue& x, const TapeValue& targets);
/// Returns the mean over an example's items of -t log s - (1 - t) log(1 - s), s = sigmoid(logit):
/// [examples].
TapeValue binary_cross_entropy(Tape& tape, const TapeValue& logits, const TapeValue& targets);

TapeValue sum(Tape& tape, const TapeValue& x);
/// Returns sum / global_batch: added up over the replicas this is the mean, however uneven their
/// shares.
TapeValue average_loss(Tape& tape, const TapeValue& losses, std::int64_t global_batch);

}  // namespace infeed::nn
