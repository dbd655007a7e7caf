// Four batches of 16 are one update of 64: for batches that don't fit the device's memory.
#include <algorithm>
#include <cmath>
#include <vector>

#include "pictures.h"

namespace {

std::vector<float> trained(std::int64_t parts) {
  infeed::Strategy strategy(initialised("v3-8"));
  const infeed::Scope scope = strategy.scope({.seed = 42});
  const infeed::ReplicaFunction forward = small_model(scope);
  infeed::nn::Sgd sgd(scope.below("sgd"), scope.variables(),
                      {.rate = infeed::nn::constant_rate(0.1)});
  for (std::uint64_t update = 0; update < 20; ++update) {
    const infeed::ColumnBatch batch = pictures(64, update);
    const std::int64_t rows = batch.rows() / parts;
    infeed::ReducedStep sum;
    for (std::int64_t part = 0; part < parts; ++part) {
      infeed::ReducedStep step = strategy.run(forward, batch.slice(part * rows, rows),
                                              {.examples_of_update = batch.rows()});
      if (part == 0) {
        sum = std::move(step);
      } else {
        sum.add(std::move(step));
      }
    }
    strategy.apply(std::move(sum), sgd);
  }
  std::vector<float> weights;
  for (const infeed::Variable& variable : scope.variables()) {
    const infeed::Tensor value = variable.value();
    weights.insert(weights.end(), value.values<float>().begin(), value.values<float>().end());
  }
  return weights;
}

}  // namespace

int main() {
  const std::vector<float> whole = trained(1);
  const std::vector<float> parts = trained(4);
  double largest = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(whole[i]) - parts[i]));
  }
  std::printf("after 20 updates the weights differ by at most %g\n", largest);
  require(largest < 1e-5, "four batches of a quarter are one batch");
}
