#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <infeed/device/fit.h>
#include <infeed/device/layers.h>
#include <infeed/infeed.h>

namespace infeed {

/// Points of three classes in eight dimensions, which a small network tells apart.
inline ColumnBatch points(std::int64_t rows, std::uint64_t seed = 1) {
  Tensor features(DType::float32, {rows, 8});
  Tensor labels(DType::int64, {rows});
  Philox random(seed, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t label = row * 5 % 3;
    labels.writable<std::int64_t>()[static_cast<std::size_t>(row)] = label;
    for (std::int64_t i = 0; i < 8; ++i) {
      const float noise = static_cast<float>(random() >> 8) * 0x1p-24F;
      features.writable<float>()[static_cast<std::size_t>(row * 8 + i)] =
          (i % 3 == label ? 1.0F : 0.0F) + noise;
    }
  }
  return ColumnBatch({{"image", Column::dense(features)}, {"label", Column::dense(labels)}});
}

/// Makes batches of the points of these numbers, with a gain that is drawn for each. parallelism: as
/// map takes it.
inline auto augmented_batches(const ColumnBatch& all, std::int64_t size, Count parallelism = 1) {
  struct Row {
    std::array<float, 8> image;
    std::int64_t label;
  };
  const auto features = all.column("image");
  const auto labels = all.column("label");
  return map(
             [features, labels](std::int64_t row, Rng& rng) {
               Row made{};
               const float gain = rng.chance(0.5F) ? 1.0F : 1.1F;
               for (std::size_t i = 0; i < 8; ++i) {
                 made.image[i] =
                     gain * features.values<float>()[static_cast<std::size_t>(row) * 8 + i];
               }
               made.label = labels.values<std::int64_t>()[static_cast<std::size_t>(row)];
               return made;
             },
             {.parallelism = parallelism, .seed = 5}) |
         batch(size) | map([](const Batch<Row>& batch_rows) {
           return as_columns(batch_rows, {"image", "label"});
         });
}

/// Augmented points, shuffled and in batches of 12: a source with randomness of its own.
inline Dataset<ColumnBatch> augmented_points(std::int64_t rows, std::uint64_t seed,
                                             Count parallelism = 1) {
  return range(rows) | shuffle({.buffer = 50, .seed = seed}) |
         augmented_batches(points(rows), 12, parallelism);
}

inline std::vector<std::vector<float>> values_of(const std::vector<Variable>& variables) {
  std::vector<std::vector<float>> all;
  for (const Variable& variable : variables) {
    const Tensor value = variable.value();
    all.emplace_back(value.values<float>().begin(), value.values<float>().end());
  }
  return all;
}

struct SmallTraining {
  explicit SmallTraining(double dropout_rate = 0, std::uint64_t seed = 7)
      : scope({.seed = seed}),
        forward(classifier(model_in(scope, dropout_rate))),
        adam(scope.below("adam"), scope.variables(), {.rate = nn::constant_rate(0.02)}),
        loss_scale(scope.below("loss_scale")) {}

  static std::shared_ptr<const nn::Layer> model_in(const Scope& scope, double dropout_rate) {
    nn::Sequential model;
    model.add(nn::Dense(scope.below("hidden"), 8, 12, {.activation = nn::Activation::tanh}));
    if (dropout_rate > 0) {
      model.add(nn::BatchNorm(scope.below("norm"), 12)).add(nn::Dropout(dropout_rate));
    }
    model.add(nn::Dense(scope.below("logits"), 12, 3));
    return std::make_shared<nn::Sequential>(std::move(model));
  }

  Training training() { return {.scope = scope, .forward = forward, .optimizer = &adam}; }
  /// All weights and moments.
  std::vector<std::vector<float>> weights() const { return values_of(scope.variables()); }

  Scope scope;
  ReplicaFunction forward;
  nn::Adam adam;
  nn::LossScale loss_scale;
};

}  // namespace infeed
