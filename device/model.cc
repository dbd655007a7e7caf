#include "infeed/device/model.h"

#include <cmath>
#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>
#include <infeed/pipeline/philox.h>

namespace infeed {
namespace {

constexpr std::int64_t kUnitsMax = std::int64_t{1} << 24;
constexpr std::int64_t kLayerParametersMax = std::int64_t{1} << 30;

std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::linear:
      return "linear";
    case Activation::relu:
      return "relu";
    case Activation::softmax:
      return "softmax";
  }
  return "unknown";
}

}  // namespace

std::string ModelSpec::to_string() const {
  std::string text = fmt::format("{}", input_features);
  for (const DenseLayer& layer : layers) {
    text += fmt::format("-{}({})", layer.units, name_of(layer.activation));
  }
  return text;
}

void ModelSpec::check() const {
  const auto refuse = [this](std::string_view why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("model {}: {}", to_string(), why));
  };
  if (layers.empty()) refuse("it has no layers; give at least one, the last with softmax");
  if (input_features < 1 || input_features > kUnitsMax) refuse("inputs must be 1 to 16777216");
  std::int64_t inputs = input_features;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].units < 1 || layers[i].units > kUnitsMax) refuse("units must be 1 to 16777216");
    if ((layers[i].activation == Activation::softmax) != (i + 1 == layers.size())) {
      refuse("the last layer, and only that, must be softmax");
    }
    if (inputs * layers[i].units > kLayerParametersMax) refuse("a layer has over 2^30 weights");
    inputs = layers[i].units;
  }
}

ModelSpec classifier_784_128_10() {
  return {.input_features = 784,
          .layers = {{.units = 128, .activation = Activation::relu},
                     {.units = 10, .activation = Activation::softmax}}};
}

Workload workload_of(const ModelSpec& spec) {
  spec.check();
  Workload workload{.name = spec.to_string(), .description = "dense network"};
  std::int64_t inputs = spec.input_features;
  for (const DenseLayer& layer : spec.layers) {
    workload.ops.push_back({.name = fmt::format("dense{}-{}", inputs, layer.units),
                            .rows = 1,
                            .k = inputs,
                            .n = layer.units,
                            .input_elements = inputs,
                            .needs_input_gradient = !workload.ops.empty(),
                            .parameters = inputs * layer.units + layer.units});
    inputs = layer.units;
  }
  return workload;
}

DenseModel::DenseModel(ModelSpec spec, ModelInit init) : spec_(std::move(spec)) {
  spec_.check();
  std::int64_t inputs = spec_.input_features;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
    const std::int64_t units = spec_.layers[i].units;
    tensors_.push_back({.name = fmt::format("dense_{}/kernel", i),
                        .shape = {inputs, units},
                        .offset = offset,
                        .size = inputs * units});
    offset += inputs * units;
    tensors_.push_back({.name = fmt::format("dense_{}/bias", i),
                        .shape = {units},
                        .offset = offset,
                        .size = units});
    offset += units;
    inputs = units;
  }
  parameters_.resize(static_cast<std::size_t>(offset));
  for (std::size_t i = 0; i < tensors_.size(); i += 2) {
    const ParameterTensor& kernel = tensors_[i];
    const double fan_sum = static_cast<double>(kernel.shape[0] + kernel.shape[1]);
    const float limit = static_cast<float>(std::sqrt(6.0 / fan_sum));
    Philox random(init.seed, i);
    for (std::int64_t j = 0; j < kernel.size; ++j) {
      const float uniform = static_cast<float>(random() >> 8) * 0x1p-24F;
      parameters_[static_cast<std::size_t>(kernel.offset + j)] = (2 * uniform - 1) * limit;
    }
  }
}

}  // namespace infeed
