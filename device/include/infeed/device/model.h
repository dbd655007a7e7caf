#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <infeed/device/cost_model.h>

/// Why: functional mode really trains, so that a pipeline's mistakes (a wrong normalisation, labels
/// that are off by one) show as a model that doesn't learn. Dense networks for classification are
/// enough for that and fast on a CPU.
///
///     infeed::ModelSpec spec = infeed::classifier_784_128_10();
///     infeed::DenseModel model(spec, {.seed = 42});
///
/// A layer computes activation(x [batch, inputs] * kernel [inputs, units] + bias [units]). The last
/// one must be softmax; its loss is sparse categorical cross-entropy. Weights start Glorot-uniform
/// (Glorot and Bengio, AISTATS 2010: +-sqrt(6 / (inputs + units))) from Philox(seed, number of the
/// tensor); biases start at 0.
namespace infeed {

enum class Activation : std::uint8_t { linear = 0, relu = 1, softmax = 2 };

struct DenseLayer {
  std::int64_t units = 0;
  Activation activation = Activation::relu;
  friend bool operator==(const DenseLayer&, const DenseLayer&) = default;
};

struct ModelSpec {
  std::int64_t input_features = 0;
  std::vector<DenseLayer> layers = {};

  std::int64_t classes() const { return layers.empty() ? 0 : layers.back().units; }
  /// Error invalid_argument if it is no network as above.
  void check() const;
  /// "784-128(relu)-10(softmax)"
  std::string to_string() const;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// The classifier of the README: 784-128(relu)-10(softmax).
ModelSpec classifier_784_128_10();

/// For step_time().
Workload workload_of(const ModelSpec& spec);

/// A named part of the parameters.
struct ParameterTensor {
  std::string name;                 ///< "dense_0/kernel"
  std::vector<std::int64_t> shape;  ///< row-major
  std::int64_t offset = 0;          ///< first element in DenseModel::parameters()
  std::int64_t size = 0;            ///< elements
};

struct ModelInit {
  std::uint64_t seed = 0;
};

/// A network and its float32 weights, all in one vector (what all-reduce and optimisers work on).
/// Thread-safety: const access from any thread.
class DenseModel {
 public:
  explicit DenseModel(ModelSpec spec, ModelInit init = {});

  const ModelSpec& spec() const { return spec_; }
  /// For layer i: tensors()[2 * i] is its kernel, tensors()[2 * i + 1] its bias.
  std::span<const ParameterTensor> tensors() const { return tensors_; }
  std::span<const float> parameters() const { return parameters_; }
  std::span<float> parameters() { return parameters_; }

 private:
  ModelSpec spec_;
  std::vector<ParameterTensor> tensors_;
  std::vector<float> parameters_;
};

}  // namespace infeed
