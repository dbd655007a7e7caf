#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <infeed/device/strategy.h>
#include <infeed/error.h>

#include "infeed/device/fit.h"
#include "refuse.h"
#include "train/fit_checks.h"
#include "train/replica_steps.h"
#include "train/signature_checks.h"

namespace infeed {
namespace {

/// Collects the rows of the outputs, as copies: outputs lie in the replicas' pools.
class Predictions {
 public:
  void add(const Tensor& output, std::int64_t number) {
    const Shape row = output.shape().without_first();
    if (row_ && !(row == *row_)) {
      detail::refuse(
          "step {}: the function gave rows of shape {}, and before {}; one tensor holds rows of "
          "one shape",
          number + 1, row.to_string(), row_->to_string());
    }
    row_ = row;
    examples_ += output.shape()[0];
    const std::span<const float> values = output.values<float>();
    values_->insert(values_->end(), values.begin(), values.end());
  }

  Tensor take() {
    if (!row_) {
      throw Error(ErrorCode::failed_precondition,
                  "predict: the dataset gave no rows; fewer rows than a batch with drop_remainder "
                  "give none");
    }
    const void* const data = values_->data();
    return Tensor::adopt(DType::float32, Shape(examples_, *row_), data, std::move(values_));
  }

 private:
  std::shared_ptr<std::vector<float>> values_ = std::make_shared<std::vector<float>>();
  std::optional<Shape> row_;
  std::int64_t examples_ = 0;
};

Tensor predict_on(detail::ReplicaStepsOptions of_replicas, const PredictFunction& forward,
                  const Dataset<ColumnBatch>& batches, const PredictOptions& options) {
  if (!forward) detail::refuse("predict() needs a function of a share");
  if (options.threads < 0) {
    detail::refuse("PredictOptions::threads is {}; take 0 or more", options.threads);
  }
  detail::check_signature(options.inputs);
  detail::ReplicaSteps replicas(std::move(of_replicas));
  Predictions predictions;
  const bool is_whole = detail::for_each_step(
      batches, replicas.replicas(), options.iterate,
      [&](std::span<const ColumnBatch> shares, std::int64_t number) {
        detail::check_inputs(options.inputs, shares, number);
        for (const Tensor& output : replicas.predict(forward, shares, number)) {
          predictions.add(output, number);
        }
      });
  if (!is_whole) throw Error(ErrorCode::cancelled, "stopped");
  return predictions.take();
}

}  // namespace

Tensor predict(const PredictFunction& forward, const Slice& slice,
               const Dataset<ColumnBatch>& batches, const PredictOptions& options) {
  return predict_on({.replicas = slice.num_replicas(),
                     .threads = options.threads,
                     .tape = {.precision = options.precision}},
                    forward, batches, options);
}

Tensor predict(const PredictFunction& forward, const Strategy& strategy,
               const Dataset<ColumnBatch>& batches, const PredictOptions& options) {
  return predict_on(strategy.replica_options(), forward, batches, options);
}

}  // namespace infeed
