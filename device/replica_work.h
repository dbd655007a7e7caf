#pragma once

#include <span>
#include <vector>

#include <infeed/device/trainer.h>

#include "nn/kernels/product.h"

// One replica's part of a step: forward and backward pass over its share of the batch. Buffers are
// kept from step to step. Not thread-safe; different objects are independent.

namespace infeed::detail {

class ReplicaWork {
 public:
  explicit ReplicaWork(ProductOptions options) : product_options_(options) {}

  /// Loss and hits over the share; keeps what backward() needs.
  Metrics forward(const DenseModel& model, const ReplicaBatch& share);
  /// Gradients of (sum of this share's losses) / global_batch. After forward() on the same share.
  void backward(const DenseModel& model, const ReplicaBatch& share, std::int64_t global_batch);

  float* gradients() { return gradients_.data(); }

 private:
  MatrixView input_of(std::size_t layer, const ReplicaBatch& share, const ModelSpec& spec) const;
  Metrics softmax_loss(const ReplicaBatch& share, std::int64_t classes);

  const ProductOptions product_options_;
  ProductWorkspace workspace_;
  std::vector<float> widened_;               ///< the features, where they are bfloat16
  std::vector<std::vector<float>> outputs_;  ///< of each layer; probabilities for the last
  std::vector<double> exponentials_;
  std::vector<float> delta_;  ///< gradient of a layer's output before its activation
  std::vector<float> input_delta_;
  std::vector<float> gradients_;
};

}  // namespace infeed::detail
