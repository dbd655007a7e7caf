#include "replica_work.h"

#include <algorithm>

#include "nn/kernels/fixed_math.h"

namespace infeed::detail {
namespace {

MatrixView kernel_of(const DenseModel& model, std::size_t layer) {
  const ParameterTensor& kernel = model.tensors()[2 * layer];
  return {.values = model.parameters().data() + kernel.offset, .row_stride = kernel.shape[1]};
}

void add_bias_and_activate(std::span<const float> bias, bool relu, std::span<float> rows) {
  for (std::size_t first = 0; first < rows.size(); first += bias.size()) {
    for (std::size_t j = 0; j < bias.size(); ++j) {
      const float value = rows[first + j] + bias[j];
      rows[first + j] = relu && value < 0 ? 0.0F : value;
    }
  }
}

}  // namespace

MatrixView ReplicaWork::input_of(std::size_t layer, const ReplicaBatch& share,
                                 const ModelSpec& spec) const {
  if (layer == 0) {
    const bool is_wide = share.features.float32 != nullptr;
    return {.values = is_wide ? share.features.float32 : widened_.data(),
            .row_stride = share.features.features_per_example};
  }
  return {.values = outputs_[layer - 1].data(), .row_stride = spec.layers[layer - 1].units};
}

Metrics ReplicaWork::forward(const DenseModel& model, const ReplicaBatch& share) {
  const ModelSpec& spec = model.spec();
  outputs_.resize(spec.layers.size());
  if (share.features.bf16 != nullptr) {
    widened_.resize(static_cast<std::size_t>(share.examples * spec.input_features));
    for (std::size_t i = 0; i < widened_.size(); ++i) {
      widened_[i] = static_cast<float>(share.features.bf16[i]);
    }
  }
  std::int64_t inputs = spec.input_features;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const DenseLayer& layer = spec.layers[i];
    std::vector<float>& output = outputs_[i];
    output.resize(static_cast<std::size_t>(share.examples * layer.units));
    multiply(workspace_, share.examples, layer.units, inputs, input_of(i, share, spec),
             kernel_of(model, i), output.data(), product_options_);
    const ParameterTensor& bias = model.tensors()[2 * i + 1];
    add_bias_and_activate(model.parameters().subspan(static_cast<std::size_t>(bias.offset),
                                                     static_cast<std::size_t>(bias.size)),
                          layer.activation == Activation::relu, output);
    inputs = layer.units;
  }
  return softmax_loss(share, spec.classes());
}

Metrics ReplicaWork::softmax_loss(const ReplicaBatch& share, std::int64_t classes) {
  Metrics metrics{.examples = share.examples};
  exponentials_.resize(static_cast<std::size_t>(classes));
  for (std::int64_t row = 0; row < share.examples; ++row) {
    const std::span<float> logits =
        std::span(outputs_.back())
            .subspan(static_cast<std::size_t>(row * classes), static_cast<std::size_t>(classes));
    const auto highest = std::max_element(logits.begin(), logits.end());
    const double shift = *highest;
    const std::int32_t label = share.labels[static_cast<std::size_t>(row)];
    const double label_logit = logits[static_cast<std::size_t>(label)];
    if (highest - logits.begin() == label) ++metrics.correct;
    double sum = 0;
    for (std::size_t c = 0; c < logits.size(); ++c) {
      exponentials_[c] = fixed_exp(logits[c] - shift);
      sum += exponentials_[c];
    }
    metrics.loss_sum += fixed_log(sum) - (label_logit - shift);
    for (std::size_t c = 0; c < logits.size(); ++c) {
      logits[c] = static_cast<float>(exponentials_[c] / sum);
    }
  }
  return metrics;
}

void ReplicaWork::backward(const DenseModel& model, const ReplicaBatch& share,
                           std::int64_t global_batch) {
  const ModelSpec& spec = model.spec();
  gradients_.resize(model.parameters().size());
  const float scale = static_cast<float>(global_batch);
  delta_ = outputs_.back();
  for (std::int64_t row = 0; row < share.examples; ++row) {
    const std::int32_t label = share.labels[static_cast<std::size_t>(row)];
    delta_[static_cast<std::size_t>(row * spec.classes() + label)] -= 1;
  }
  for (float& value : delta_) value /= scale;

  for (std::size_t i = spec.layers.size(); i-- > 0;) {
    const ParameterTensor& kernel = model.tensors()[2 * i];
    const ParameterTensor& bias = model.tensors()[2 * i + 1];
    const std::int64_t inputs = kernel.shape[0];
    const std::int64_t units = kernel.shape[1];
    const MatrixView delta{.values = delta_.data(), .row_stride = units};
    multiply(workspace_, inputs, units, share.examples, input_of(i, share, spec).transposed(),
             delta, gradients_.data() + kernel.offset, product_options_);
    float* bias_gradient = gradients_.data() + bias.offset;
    std::fill_n(bias_gradient, units, 0.0F);
    for (std::int64_t row = 0; row < share.examples; ++row) {
      for (std::int64_t j = 0; j < units; ++j) {
        bias_gradient[j] += delta_[static_cast<std::size_t>(row * units + j)];
      }
    }
    if (i == 0) break;
    input_delta_.resize(static_cast<std::size_t>(share.examples * inputs));
    multiply(workspace_, share.examples, inputs, units, delta, kernel_of(model, i).transposed(),
             input_delta_.data(), product_options_);
    if (spec.layers[i - 1].activation == Activation::relu) {
      const std::vector<float>& activated = outputs_[i - 1];
      for (std::size_t j = 0; j < input_delta_.size(); ++j) {
        if (!(activated[j] > 0)) input_delta_[j] = 0;
      }
    }
    std::swap(delta_, input_delta_);
  }
}

}  // namespace infeed::detail
