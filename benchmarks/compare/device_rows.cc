#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <infeed/device/losses.h>
#include <infeed/device/models.h>
#include <infeed/device/operations.h>
#include <infeed/device/optimizers.h>

#include "drain.h"
#include "fma_loop.h"
#include "row.h"

namespace infeed::compare {
namespace {

constexpr std::int64_t kSide = 512;

/// Returns the operations a second of one product on one thread, the best of some tries.
double product_per_s(double seconds) {
  const Tensor filled = [] {
    Tensor tensor(DType::float32, {kSide, kSide});
    std::ranges::fill(tensor.writable<float>(), 0.25F);
    return tensor;
  }();
  Tape tape;
  const TapeValue matrix = tape.constant(filled);
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto begin = Clock::now();
    nn::matrix_product(tape, matrix, matrix);
    best = std::max(best, 2.0 * kSide * kSide * kSide / seconds_since(begin));
  } while (seconds_since(start) < seconds);
  return best;
}

constexpr std::int64_t kBatch = 128;
constexpr std::int64_t kPixels = 784;
constexpr std::size_t kPoolBytes = std::size_t{1} << 30;

/// Times forward, backward, and SGD with momentum; the best of some tries.
double convnet_step_seconds(double seconds) {
  Scope scope({.seed = 1});
  const nn::Sequential model = nn::convnet(scope, 0);
  nn::Sgd optimizer(scope.below("sgd"), scope.variables(),
                    {.rate = nn::constant_rate(0.001), .momentum = 0.9});
  Tensor images(DType::float32, {kBatch, kPixels});
  float pixel = 0;
  for (float& value : images.writable<float>()) value = pixel = pixel < 1 ? pixel + 0.37F : 0;
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < kBatch; ++i) labels.push_back(i % 10);
  const TensorPool pool({.free_bytes_max = kPoolBytes});  // steps share their memory
  const auto step = [&] {
    Gradients gradients;
    {
      Tape tape({.training = true, .pool = pool});
      const TapeValue logits = model.apply(tape, tape.constant(images));
      gradients = tape.gradients(
          nn::average_loss(tape, nn::softmax_cross_entropy(tape, logits, labels), kBatch));
    }
    optimizer.apply(gradients);
  };
  step();  // allocates its memory
  double best = std::numeric_limits<double>::infinity();
  const auto start = Clock::now();
  do {
    const auto begin = Clock::now();
    step();
    best = std::min(best, seconds_since(begin));
  } while (seconds_since(start) < seconds);
  return best;
}

}  // namespace

std::vector<Row> device_rows() {
  return {{"float32 product 512 x 512 x 512, one thread",
           [](const RunOptions& options) {
             return Measurement{product_per_s(options.measure_seconds) / 1e9,
                                fma_peak_per_s(options.measure_seconds) / 1e9};
           }},
          {"convnet, a step of 128 images, one thread", [](const RunOptions& options) {
             return Measurement{convnet_step_seconds(options.measure_seconds) * 1e3};
           }}};
}

}  // namespace infeed::compare
