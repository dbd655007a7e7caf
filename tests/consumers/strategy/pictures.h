#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <infeed/device/strategy.h>
#include <infeed/infeed.h>

/// Returns pictures of 8 x 8 pixels with one bright line each, whose place is the label: eight
/// classes.
inline infeed::ColumnBatch pictures(std::int64_t rows, std::uint64_t seed) {
  infeed::Tensor pixels(infeed::DType::float32, {rows, 64});
  infeed::Tensor labels(infeed::DType::int64, {rows});
  infeed::Philox random(seed, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t line = random() % 8;
    labels.writable<std::int64_t>()[static_cast<std::size_t>(row)] = line;
    for (std::int64_t pixel = 0; pixel < 64; ++pixel) {
      const float noise = static_cast<float>(random() >> 8) * 0x1p-24F;
      pixels.writable<float>()[static_cast<std::size_t>(row * 64 + pixel)] =
          pixel / 8 == line ? 1.0F : 0.8F * noise;
    }
  }
  return infeed::ColumnBatch({{"image", infeed::Column::dense(std::move(pixels))},
                              {"label", infeed::Column::dense(std::move(labels))}});
}

/// Two dense layers, for pictures of 8 x 8.
inline infeed::ReplicaFunction small_model(const infeed::Scope& scope) {
  infeed::nn::Sequential model;
  model
      .add(infeed::nn::Dense(scope.below("hidden"), 64, 32,
                             {.activation = infeed::nn::Activation::relu}))
      .add(infeed::nn::Dense(scope.below("logits"), 32, 8));
  return infeed::classifier(std::make_shared<infeed::nn::Sequential>(std::move(model)));
}

inline infeed::Cluster initialised(const char* slice) {
  infeed::Cluster cluster = infeed::Cluster::connect(slice);
  cluster.initialize();
  return cluster;
}

/// Ends the program unless `holds`.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "doesn't hold: %s\n", what.c_str());
  std::exit(1);
}

/// Requires that `call` throws an Error whose message contains `text`.
template <class Call>
void require_error(const std::string& text, const Call& call) {
  try {
    call();
  } catch (const infeed::Error& error) {
    std::printf("%s\n", error.what());
    return require(error.message().find(text) != std::string::npos, "the error says: " + text);
  }
  require(false, "there is an error that says: " + text);
}
