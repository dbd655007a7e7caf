// Your own loop: distributed input, steps on the replicas, values reduced over them.
#include "pictures.h"

int main() {
  infeed::Strategy strategy(initialised("v3-8"));
  const infeed::Scope scope = strategy.scope({.seed = 42});
  const infeed::ReplicaFunction forward = small_model(scope);
  infeed::nn::Adam adam(scope.below("adam"), scope.variables(),
                        {.rate = infeed::nn::constant_rate(0.01)});
  const infeed::DistributedDataset input = strategy.distribute(
      infeed::from_columns(pictures(4096, 1), 64) | infeed::shuffle({.buffer = 64, .seed = 5}),
      {.global_batch = 64});

  for (int epoch = 0; epoch < 3; ++epoch) {
    infeed::Metrics metrics;
    infeed::DistributedIterator steps = input.iterate();
    while (const auto shares = steps.next()) {
      infeed::ReducedStep step = strategy.run(forward, *shares);
      metrics += step.metrics;
      strategy.apply(std::move(step), adam);
    }
    std::printf("epoch %d: loss %.4f, accuracy %.4f\n", epoch, metrics.loss(), metrics.accuracy());
    require(metrics.examples == 4096, "every picture was seen once");
  }

  const infeed::ColumnBatch test = pictures(500, 2);
  require(strategy.evaluate(forward, test).accuracy() > 0.99, "it has learnt the lines");
  // 500 pictures on 8 replicas: four get 63, the others 62.
  const auto rows =
      strategy.each(strategy.shares_of(test), [](infeed::Tape&, const infeed::ColumnBatch& share) {
        return static_cast<double>(share.rows());
      });
  require(rows[0] == 63 && rows[7] == 62, "the first ones get one more");
  require(strategy.reduce(infeed::Reduction::sum, rows) == 500, "together they have all");
  require(strategy.reduce(infeed::Reduction::mean, rows) == 62.5, "a mean over replicas");

  // A batch made for one replica would be divided once more.
  const infeed::DistributedDataset of_a_replica =
      strategy.distribute(infeed::from_columns(pictures(64, 1), 8), {.global_batch = 64});
  require_error("which is what one of 8 replicas takes", [&] { of_a_replica.iterate().next(); });
}
