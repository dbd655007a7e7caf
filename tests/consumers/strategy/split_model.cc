// Model parallelism: each layer in two parts, on the two devices of a replica.
#include <infeed/device/cost_model.h>
#include <infeed/device/hbm_need.h>
#include <infeed/device/split_dense.h>

#include "pictures.h"

int main() {
  namespace nn = infeed::nn;
  infeed::Strategy strategy(initialised("v3-8"), {.devices_of_replica = 2});
  require(strategy.num_replicas_in_sync() == 4, "eight devices are four replicas of two");
  const infeed::Scope scope = strategy.scope({.seed = 42});
  nn::Sequential model;
  model
      .add(nn::SplitDense(
          scope.below("hidden"), 64, 32,
          {.split = nn::Split::columns, .parts = 2, .activation = nn::Activation::relu}))
      .add(nn::SplitDense(scope.below("logits"), 32, 8, {.split = nn::Split::rows, .parts = 2}));
  const infeed::ReplicaFunction forward =
      infeed::classifier(std::make_shared<nn::Sequential>(std::move(model)));
  nn::Adam adam(scope.below("adam"), scope.variables(), {.rate = nn::constant_rate(0.01)});
  for (std::uint64_t step = 0; step < 150; ++step) {
    strategy.apply(strategy.run(forward, pictures(64, step)), adam);
  }
  const double accuracy = strategy.evaluate(forward, pictures(512, 1000)).accuracy();
  std::printf("accuracy %.4f\n", accuracy);
  require(accuracy > 0.99, "it has learnt the lines");

  // Its purpose: a model that is too large for one device.
  const infeed::Slice slice = infeed::Slice::parse("v3-8");
  const infeed::Workload gpt = infeed::workload("gpt2-1.5b");
  require(!infeed::hbm_need(gpt, slice, 8).fits(), "a core of a v3 chip can't hold it");
  require(infeed::hbm_need(gpt, slice, 8, {.devices_of_replica = 8}).fits(), "eight cores can");
}
