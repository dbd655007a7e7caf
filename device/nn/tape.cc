#include "infeed/device/tape.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

#include "operation_parts.h"
#include "refuse.h"
#include "variable_state.h"

namespace infeed {
namespace {

constexpr std::array<std::string_view, 3> kPrecisions = {"float32", "mixed_bfloat16",
                                                         "mixed_float16"};

/// Returns false if the tensor holds other values than T.
template <class T>
bool widen(const Tensor& from, std::span<float> to) {
  if (from.dtype() != dtype_of<T>()) return false;
  const std::span<const T> values = from.values<T>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(values[i]);
  return true;
}

}  // namespace

std::string_view to_string(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

Precision precision_from(std::string_view name) {
  const auto found = std::find(kPrecisions.begin(), kPrecisions.end(), name);
  if (found == kPrecisions.end()) {
    detail::refuse("there is no precision '{}'; take one of {}", name,
                   fmt::join(kPrecisions, ", "));
  }
  return static_cast<Precision>(found - kPrecisions.begin());
}

struct Tape::Node {
  std::vector<std::int32_t> inputs;
  Backward backward;
};

Tape::Tape(TapeOptions options)
    : options_(std::move(options)), workspace_(std::make_unique<Workspace>()) {}
Tape::~Tape() = default;

Tensor Tape::make(const Shape& shape) const { return Tensor(DType::float32, shape, options_.pool); }

TapeValue Tape::constant(const Tensor& tensor) const {
  if (tensor.dtype() == DType::float32) return {tensor, -1};
  Tensor wide = make(tensor.shape());
  const std::span<float> to = wide.writable<float>();
  if (!(widen<bfloat16>(tensor, to) || widen<float16>(tensor, to) ||
        widen<std::uint8_t>(tensor, to) || widen<std::int32_t>(tensor, to) ||
        widen<std::int64_t>(tensor, to))) {
    detail::refuse("a model takes float32, float16, bfloat16, uint8, int32 or int64, not {}",
                   to_string(tensor.dtype()));
  }
  return {std::move(wide), -1};
}

TapeValue Tape::read(const Variable& variable) {
  const detail::VariableState& state = variable.state();
  if (state.strategy != options_.strategy) {
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("variable {} was made outside the scope of the strategy that runs this "
                    "step, which keeps no copy of it for its replicas; make it in that scope",
                    variable.name()));
  }
  const Tensor& value = state.copy_of(static_cast<std::size_t>(options_.replica));
  if (!options_.training || !variable.trainable()) return {value, -1};
  for (const auto& [known, node] : leaves_) {
    if (known == variable) return {value, node};
  }
  const auto node = static_cast<std::int32_t>(nodes_.size());
  nodes_.push_back({});
  leaves_.emplace_back(variable, node);
  return {value, node};
}

void Tape::update(const Variable& variable, Tensor value) {
  if (!(value.shape() == variable.shape())) {
    detail::refuse("an update {} of variable {}, which is {}", value.shape().to_string(),
                   variable.name(), variable.shape().to_string());
  }
  updates_.emplace_back(variable, std::move(value));
}

TapeValue Tape::record(std::string_view operation, Tensor output,
                       const std::vector<TapeValue>& inputs, Backward backward) {
  if (options_.on_operation) {
    options_.on_operation(
        {.name = operation, .device = device_, .output = output.shape(), .inputs = inputs});
  }
  const std::int32_t number = operations_++;
  const bool reached = std::any_of(inputs.begin(), inputs.end(),
                                   [](const TapeValue& input) { return input.is_recorded(); });
  if (!reached) return {std::move(output), -1, number};
  Node node{.inputs = {}, .backward = std::move(backward)};
  for (const TapeValue& input : inputs) node.inputs.push_back(input.node_);
  nodes_.push_back(std::move(node));
  return {std::move(output), static_cast<std::int32_t>(nodes_.size()) - 1, number};
}

Gradients Tape::gradients(const TapeValue& loss, float scale) {
  if (loss.shape().items() != 1) {
    detail::refuse(
        "gradients are of one number, and the loss is of shape {}; add it up, or take "
        "average_loss()",
        loss.shape().to_string());
  }
  std::vector<std::optional<Tensor>> arrived(nodes_.size());
  if (loss.is_recorded()) {
    const auto last = static_cast<std::size_t>(loss.node_);
    arrived[last] = make(loss.shape());
    arrived[last]->writable<float>()[0] = scale;
    for (std::size_t i = last + 1; i-- > 0;) {
      Node& node = nodes_[i];
      if (!arrived[i] || !node.backward) continue;
      std::vector<Tensor> parts = node.backward(*arrived[i]);
      node.backward = {};  // frees the captured tensors
      arrived[i].reset();
      for (std::size_t j = 0; j < parts.size(); ++j) {
        if (node.inputs[j] < 0) continue;
        std::optional<Tensor>& sum = arrived[static_cast<std::size_t>(node.inputs[j])];
        sum = sum ? nn::mapped(*this, parts[j].shape(), std::plus<float>(), sum->values<float>(),
                               parts[j].values<float>())
                  : std::move(parts[j]);
      }
    }
  }
  Gradients gradients;
  for (const auto& [variable, leaf] : leaves_) {
    std::optional<Tensor>& gradient = arrived[static_cast<std::size_t>(leaf)];
    if (!gradient) gradient = nn::zeros(*this, variable.shape());
    gradients.emplace_back(variable, std::move(*gradient));
  }
  return gradients;
}

}  // namespace infeed
