#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>
#include <vector>

#include <infeed/error.h>

#include "infeed/device/replica_function.h"

namespace infeed {
namespace {

/// Replaces a label that int32 doesn't hold: out of every model's range, too.
constexpr std::int32_t kNoClass = std::numeric_limits<std::int32_t>::max();

Error refused_column(const std::string& name, const Column& column, std::string_view expected) {
  return Error(
      ErrorCode::invalid_argument,
      fmt::format("column '{}' is {} of {} {}; expected {}", name, to_string(column.kind()),
                  to_string(column.dtype()), column.row_shape().to_string(), expected));
}

const Tensor& dense_values(const ColumnBatch& share, const std::string& name,
                           std::string_view expected) {
  const Column& column = share.column(name);
  if (column.kind() != Column::Kind::dense) throw refused_column(name, column, expected);
  return column.values();
}

template <typename Integer>
void append_labels(const Tensor& tensor, std::vector<std::int32_t>& labels) {
  for (const Integer label : tensor.values<Integer>()) {
    labels.push_back(std::in_range<std::int32_t>(label) ? static_cast<std::int32_t>(label)
                                                        : kNoClass);
  }
}

std::vector<std::int32_t> labels_of(const ColumnBatch& share, const std::string& name) {
  constexpr std::string_view kExpected = "one int32, int64 or uint8 a row, the number of its class";
  const Tensor& tensor = dense_values(share, name, kExpected);
  std::vector<std::int32_t> labels;
  labels.reserve(static_cast<std::size_t>(tensor.shape().items()));
  if (tensor.shape().items() == share.rows()) {
    if (tensor.dtype() == DType::int32) append_labels<std::int32_t>(tensor, labels);
    if (tensor.dtype() == DType::int64) append_labels<std::int64_t>(tensor, labels);
    if (tensor.dtype() == DType::uint8) append_labels<std::uint8_t>(tensor, labels);
  }
  if (static_cast<std::int64_t>(labels.size()) != share.rows()) {
    throw refused_column(name, share.column(name), kExpected);
  }
  return labels;
}

TapeValue features_of(Tape& tape, const ColumnBatch& share, const std::string& name) {
  return tape.constant(dense_values(share, name, "numbers in rows of one shape"));
}

std::int64_t count_correct(const TapeValue& logits, const std::vector<std::int32_t>& labels) {
  const auto classes = static_cast<std::size_t>(logits.shape()[1]);
  std::int64_t correct = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto scores = logits.values().subspan(row * classes, classes);
    const auto best = std::ranges::max_element(scores) - scores.begin();
    correct += best == labels[row] ? 1 : 0;
  }
  return correct;
}

}  // namespace

ReplicaFunction classifier(std::shared_ptr<const nn::Layer> model, ClassifierOptions options) {
  return [model = std::move(model), options = std::move(options)](
             Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    const std::vector<std::int32_t> labels = labels_of(share, options.labels);
    const TapeValue logits = model->apply(tape, features_of(tape, share, options.features));
    const TapeValue losses = nn::softmax_cross_entropy(tape, logits, labels);
    return {.losses = losses, .correct = count_correct(logits, labels)};
  };
}

PredictFunction predictor(std::shared_ptr<const nn::Layer> model, std::string features) {
  return [model = std::move(model), features = std::move(features)](
             Tape& tape, const ColumnBatch& share) -> TapeValue {
    return model->apply(tape, features_of(tape, share, features));
  };
}

}  // namespace infeed
