#include <algorithm>
#include <vector>

#include <infeed/device/operations.h>

#include "drain.h"
#include "fma_loop.h"
#include "row.h"

namespace infeed::compare {
namespace {

constexpr std::int64_t kSide = 512;

/// Operations a second of one product on one thread, the best of some tries.
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

}  // namespace

std::vector<Row> device_rows() {
  return {{"float32 product 512 x 512 x 512, one thread", [](const RunOptions& options) {
             return Measurement{product_per_s(options.measure_seconds) / 1e9,
                                fma_peak_per_s(options.measure_seconds) / 1e9};
           }}};
}

}  // namespace infeed::compare
