#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <infeed/device/layers.h>
#include <infeed/device/losses.h>
#include <infeed/device/metrics.h>
#include <infeed/device/tape.h>
#include <infeed/records/column_batch.h>

/// Why: training takes a function of a replica's share of a batch, so that any model with any loss
/// can be trained.
///
///     infeed::Scope scope({.seed = 42});
///     infeed::ReplicaFunction images =
///         infeed::classifier(infeed::nn::model_named("convnet", scope));
///
///     infeed::nn::Dense line(scope.below("line"), 8, 1);
///     infeed::ReplicaFunction prices =
///         [line](infeed::Tape& tape, const infeed::ColumnBatch& share) -> infeed::ReplicaResult {
///       namespace nn = infeed::nn;
///       const auto found = line.apply(tape, tape.constant(share.column("rooms").values()));
///       const auto wanted = tape.constant(share.column("price").values());
///       return {.losses = nn::mean_squared_error(tape, found, wanted)};
///     };
///
/// Thread-safety: several threads call it at once, each with its own tape and share; so it must
/// only read its captures.
namespace infeed {

struct ReplicaResult {
  TapeValue losses;          ///< one for each example of the share: [examples]
  std::int64_t correct = 0;  ///< hits among the examples, if they are counted
  /// User-defined metrics of the same forward pass, summed over the examples. They are added up
  /// over replicas and steps, and go to the logs, to TensorBoard and into checkpoints.
  std::vector<NamedSum> sums = {};
};

using ReplicaFunction = std::function<ReplicaResult(Tape& tape, const ColumnBatch& share)>;

/// Returns a model's output for a share, without labels or loss: a row an example, [examples, ...].
using PredictFunction = std::function<TapeValue(Tape& tape, const ColumnBatch& share)>;

struct ClassifierOptions {
  std::string features = "image";  ///< a dense column of numbers
  std::string labels = "label";    ///< a dense column [examples] of int32, int64 or uint8
};

/// Returns a function with the softmax cross entropy of the model's output, [examples, classes],
/// which also counts the examples whose largest logit is their label's.
/// Errors invalid_argument: a column that is missing or of another kind, a label out of range (with
/// its example), logits of another shape.
ReplicaFunction classifier(std::shared_ptr<const nn::Layer> model, ClassifierOptions options = {});

/// Returns a function with the model's output for a dense column of numbers: a classifier's logits,
/// [examples, classes]. Error invalid_argument: a column that is missing or of another kind.
PredictFunction predictor(std::shared_ptr<const nn::Layer> model, std::string features = "image");

}  // namespace infeed
