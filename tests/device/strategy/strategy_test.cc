#include <cmath>
#include <gmock/gmock.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <infeed/device/fit.h>
#include <infeed/device/split_dense.h>
#include <infeed/device/strategy.h>

#include "../../../device/nn/variable_state.h"
#include "device/error_message.h"
#include "device/train/small_training.h"

namespace infeed {
namespace {

using testing::HasSubstr;

using Weights = std::vector<std::vector<float>>;

Cluster initialised(std::string_view slice) {
  Cluster cluster = Cluster::connect(slice);
  cluster.initialize();
  return cluster;
}

/// A small network on a slice, and the loop around it.
struct Loop {
  explicit Loop(std::string_view slice, StrategyOptions options = {})
      : strategy(initialised(slice), std::move(options)),
        scope(strategy.scope({.seed = 7})),
        forward(classifier(SmallTraining::model_in(scope, 0))),
        adam(scope.below("adam"), scope.variables(), {.rate = nn::constant_rate(0.02)}) {}

  Metrics train(const ColumnBatch& batch) {
    ReducedStep step = strategy.run(forward, batch);
    const Metrics metrics = step.metrics;
    strategy.apply(std::move(step), adam);
    return metrics;
  }
  /// `parts` batches of an update.
  void accumulate(const ColumnBatch& batch, std::int64_t parts) {
    const std::int64_t rows = batch.rows() / parts;
    const RunOptions options{.examples_of_update = batch.rows()};
    ReducedStep sum = strategy.run(forward, batch.slice(0, rows), options);
    for (std::int64_t part = 1; part < parts; ++part)
      sum.add(strategy.run(forward, batch.slice(part * rows, rows), options));
    EXPECT_EQ(sum.metrics.examples, batch.rows());
    strategy.apply(std::move(sum), adam);
  }
  Weights weights() const {
    Weights all;
    for (const Variable& variable : scope.variables()) {
      const auto values = variable.value().values<float>();
      all.emplace_back(values.begin(), values.end());
    }
    return all;
  }

  Strategy strategy;
  Scope scope;
  ReplicaFunction forward;
  nn::Adam adam;
};

double largest_difference(const Weights& a, const Weights& b) {
  double largest = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].size(); ++j)
      largest = std::max(largest, std::abs(static_cast<double>(a[i][j]) - b[i][j]));
  }
  return largest;
}

Weights weights_after(std::string_view slice, StrategyOptions options, int steps = 10) {
  Loop loop(slice, std::move(options));
  for (int i = 0; i < steps; ++i) loop.train(points(50, static_cast<std::uint64_t>(i)));
  return loop.weights();
}

TEST(Strategy, TrainsALoopOfOnesOwn) {
  Loop loop("v3-8");
  EXPECT_EQ(loop.strategy.num_replicas_in_sync(), 8);
  for (int i = 0; i < 100; ++i) loop.train(points(64, static_cast<std::uint64_t>(i)));
  EXPECT_GT(loop.strategy.evaluate(loop.forward, points(300, 1000)).accuracy(), 0.95);
}

TEST(SameBits, OfAStrategyOnAnyNumberOfThreadsAtEveryVectorWidth) {
  const Weights one = weights_after("v3-8", {.threads = 1});
  for (const VectorWidth width :
       {VectorWidth::bits_128, VectorWidth::bits_256, VectorWidth::bits_512}) {
    for (std::int32_t threads = 1; threads <= 8; ++threads) {
      EXPECT_EQ(weights_after("v3-8", {.width = width, .threads = threads}), one)
          << threads << " threads, width " << static_cast<int>(width);
    }
  }
  EXPECT_EQ(weights_after("v3-8", {.checks_mirrors = true}), one);
}

TEST(SameBits, OfEightReplicasAndOne) {
  EXPECT_LT(largest_difference(weights_after("v3-8", {}), weights_after("v5litepod-1", {})), 1e-5);
}

TEST(SameBits, OfFourAccumulatedBatchesAndOneOfTheirSize) {
  Loop whole("v3-8");
  Loop parts("v3-8");
  for (std::uint64_t i = 0; i < 5; ++i) {
    whole.train(points(64, i));
    parts.accumulate(points(64, i), 4);
  }
  EXPECT_LT(largest_difference(whole.weights(), parts.weights()), 1e-6);
}

TEST(SameBits, OfAStrategysLoopAndFit) {
  Loop loop("v3-8");
  Loop fitted("v3-8");
  const Dataset<ColumnBatch> batches = from_columns(points(50), 50);
  for (int i = 0; i < 4; ++i) loop.train(points(50));
  fit({.scope = fitted.scope, .forward = fitted.forward, .optimizer = &fitted.adam},
      Slice::parse("v3-8"), batches, {.epochs = 4});
  EXPECT_EQ(loop.weights(), fitted.weights());
}

TEST(Strategy, LeavesReplicasWithoutRowsOut) {
  Loop loop("v3-8");
  EXPECT_EQ(loop.train(points(3)).examples, 3);
  EXPECT_TRUE(std::isfinite(loop.train(points(3)).loss()));
}

TEST(Strategy, NamesAVariableMadeOutsideItsScope) {
  Loop loop("v3-8");
  Scope outside;
  const auto forward = classifier(SmallTraining::model_in(outside, 0));
  EXPECT_THAT(
      error_message([&] { loop.strategy.run(forward, points(16)); }),
      testing::MatchesRegex("step 1, replica 0: variable hidden/(kernel|bias) was made outside the "
                            "scope of the strategy that runs this step, which keeps no copy of it "
                            "for its replicas; make it in that scope"));
  // Variables of a strategy can't be read elsewhere either.
  Tape tape;
  EXPECT_THAT(error_message([&] { tape.read(loop.scope.variables().front()); }),
              HasSubstr("variable hidden/kernel was made outside the scope"));
}

TEST(Strategy, NeedsAnInitialisedCluster) {
  EXPECT_THAT(error_message([] { Strategy strategy(Cluster::connect("v3-8")); }),
              HasSubstr("cluster v3-8 isn't initialised"));
}

TEST(Strategy, IsOneDeviceWithoutACluster) {
  Strategy strategy({.threads = 1});
  EXPECT_EQ(strategy.num_replicas_in_sync(), 1);
  EXPECT_EQ(strategy.slice().name(), "v5litepod-1");
  EXPECT_THAT(strategy.message(), HasSubstr("no slice is named, so one device does all"));
  EXPECT_EQ(Strategy(initialised("v3-8")).message(), "");
  const Scope scope = strategy.scope({.seed = 7});
  const auto forward = classifier(SmallTraining::model_in(scope, 0));
  nn::Adam adam(scope.below("adam"), scope.variables(), {.rate = nn::constant_rate(0.02)});
  EXPECT_EQ(strategy.run(forward, points(21)).metrics.examples, 21);
  const FitResult result =
      fit({.scope = scope, .forward = forward, .optimizer = &adam}, strategy,
          strategy.distribute(from_columns(points(40), 16), {.global_batch = 16}));
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(result.message, strategy.message());
}

TEST(Strategy, SaysHowABatchIsDivided) {
  Loop loop("v3-8", {.even_shares_only = true});
  EXPECT_EQ(error_message([&] { loop.train(points(12)); }),
            "step 1: a batch of 12 rows isn't divisible by 8 replicas; take a batch of a multiple "
            "of them with drop_remainder, or allow uneven shares");
}

TEST(Strategy, SaysWhichCopyOfAVariableDiffers) {
  Loop loop("v3-8", {.checks_mirrors = true});
  loop.train(points(16));
  loop.scope.variables().front().state().writable(5)[2] = 42;
  EXPECT_THAT(error_message([&] { loop.train(points(16)); }),
              HasSubstr("step 2: variable hidden/kernel of replica 5 differs from replica 0's at "
                        "item 2: "));
}

TEST(Strategy, TellsWhereEachOperationRuns) {
  std::map<std::string, int> operations;
  Loop loop("v3-8", {.on_operation = [&](const LogicalDevice& device, std::string_view,
                                         const Shape&) { ++operations[device.name()]; }});
  loop.train(points(16));
  EXPECT_EQ(operations.size(), 8U);
  EXPECT_GT(operations["/job:worker/replica:0/task:0/device:TPU:7"], 3);
}

TEST(Strategy, RunsAFunctionOnTheDeviceThatIsNamed) {
  std::vector<std::string> ran;
  Strategy strategy(initialised("v3-8"),
                    {.devices_of_replica = 2,
                     .synchronised = true,
                     .on_operation = [&](const LogicalDevice& device, std::string_view,
                                         const Shape&) { ran.push_back(device.name()); }});
  const Scope scope = strategy.scope({.seed = 7});
  const nn::Dense line(scope.below("line"), 8, 1);
  std::vector<std::int32_t> replicas;
  const auto product = [&](Tape& tape) {
    replicas.push_back(tape.options().replica);
    return line.apply(tape, tape.constant(points(4).column("image").values())).tensor();
  };
  const auto first = strategy.on_device("TPU:5", product);
  EXPECT_EQ(first.value.shape(), Shape({4, 1}));
  EXPECT_EQ(first.time.device.name(), "/job:worker/replica:0/task:0/device:TPU:5");
  EXPECT_GT(first.time.compute_ns, 0);
  EXPECT_EQ(first.time.device_ns, first.time.compute_ns);
  const auto again = strategy.on_device("/device:TPU:5", product);
  EXPECT_EQ(again.value, first.value);
  EXPECT_EQ(again.time.device_ns, first.time.compute_ns + again.time.compute_ns);
  const auto other = strategy.on_device("TPU:0", product);
  EXPECT_EQ(other.time.device_ns, other.time.compute_ns);
  EXPECT_THAT(replicas, testing::ElementsAre(2, 2, 0));
  EXPECT_EQ(std::set<std::string>(ran.begin(), ran.end()),
            std::set<std::string>({first.time.device.name(), other.time.device.name()}));
  EXPECT_EQ(error_message([&] { strategy.on_device("TPU:8", product); }),
            "there is no device 'TPU:8' on v3-8; it has \"TPU:0\" to \"TPU:7\"");
  EXPECT_EQ(replicas.size(), 3U);
}

TEST(Strategy, SplitsAReplicaOverDevices) {
  std::map<std::string, int> devices;
  Strategy strategy(initialised("v3-8"),
                    {.devices_of_replica = 2,
                     .on_operation = [&](const LogicalDevice& device, std::string_view,
                                         const Shape&) { ++devices[device.name()]; }});
  EXPECT_EQ(strategy.num_replicas_in_sync(), 4);
  Scope scope = strategy.scope({.seed = 7});
  nn::Sequential model;
  model.add(nn::SplitDense(scope.below("hidden"), 8, 12, {.activation = nn::Activation::tanh}))
      .add(nn::SplitDense(scope.below("logits"), 12, 3, {.split = nn::Split::rows}));
  const auto forward = classifier(std::make_shared<nn::Sequential>(std::move(model)));
  nn::Adam adam(scope.below("adam"), scope.variables(), {.rate = nn::constant_rate(0.02)});
  for (std::uint64_t i = 0; i < 60; ++i) strategy.apply(strategy.run(forward, points(64, i)), adam);
  EXPECT_GT(strategy.evaluate(forward, points(300, 1000)).accuracy(), 0.95);
  EXPECT_EQ(devices.size(), 8U);

  EXPECT_EQ(
      error_message([] { Strategy(initialised("v3-8"), {.devices_of_replica = 3}); }),
      "replicas of 3 devices on v3-8, whose hosts have 8 each; devices_of_replica must divide "
      "that");
  Strategy other(initialised("v3-8"));
  Scope its = other.scope();
  const auto split = classifier(
      std::make_shared<nn::SplitDense>(its.below("a"), 8, 4, nn::SplitDenseOptions{.parts = 4}));
  EXPECT_THAT(
      error_message([&] { other.run(split, points(8)); }),
      HasSubstr("variable a/part0/kernel belongs to a layer that is split into 4 parts, and "
                "a replica has 1 device; set StrategyOptions::devices_of_replica"));
}

TEST(Strategy, TakesTheSharesOfADistributedDataset) {
  Loop loop("v3-8");
  Loop whole("v3-8");
  const DistributedDataset input =
      loop.strategy.distribute(from_columns(points(64), 16), {.global_batch = 16});
  DistributedIterator iterator = input.iterate();
  for (std::int64_t step = 0; const auto shares = iterator.next(); ++step) {
    loop.strategy.apply(loop.strategy.run(loop.forward, *shares), loop.adam);
    whole.train(points(64).slice(16 * step, 16));
  }
  EXPECT_EQ(loop.weights(), whole.weights());
  EXPECT_EQ(loop.strategy.evaluate(loop.forward, loop.strategy.shares_of(points(30))),
            loop.strategy.evaluate(loop.forward, points(30)));
  EXPECT_EQ(error_message([&] { loop.strategy.run(loop.forward, PerReplica<ColumnBatch>()); }),
            "shares of 0 replicas, and the strategy has 8");
}

TEST(Strategy, CompilesOnceAShapeOfShare) {
  Loop loop("v3-8");
  for (const std::int64_t rows : {16, 16, 15, 24, 16}) loop.train(points(rows));
  // A share of one row is padded to two, as its step's largest.
  ASSERT_EQ(loop.strategy.compilations().size(), 2U);
  EXPECT_EQ(loop.strategy.compilations()[1].step, 4);
  EXPECT_EQ(loop.strategy.compilations()[1].reason,
            "image float32 [3, 8], before float32 [2, 8]; label int64 [3], before int64 [2]");
  const StepSummary simulated = loop.strategy.simulated();
  EXPECT_EQ(simulated.steps, 5);
  EXPECT_EQ(simulated.examples, 87);
  EXPECT_EQ(simulated.idle_ps, loop.strategy.compilations()[0].compilation_ps +
                                   loop.strategy.compilations()[1].compilation_ps);
}

TEST(Strategy, ReducesWhatReplicasGive) {
  Loop loop("v3-8");
  const auto rows = loop.strategy.each(
      loop.strategy.shares_of(points(11)),
      [](Tape&, const ColumnBatch& share) { return static_cast<double>(share.rows()); });
  EXPECT_THAT(rows.values(), testing::ElementsAre(2, 2, 2, 1, 1, 1, 1, 1));
  EXPECT_EQ(loop.strategy.reduce(Reduction::sum, rows), 11);
  EXPECT_EQ(loop.strategy.reduce(Reduction::mean, rows), 11.0 / 8);
  const auto tensors =
      loop.strategy.each(loop.strategy.shares_of(points(3)), [](Tape& tape, const ColumnBatch&) {
        const auto replica = static_cast<float>(tape.options().replica);
        return Tensor::copy_of({2}, {replica, 1.0F});
      });
  const Tensor sum = loop.strategy.reduce(Reduction::sum, tensors);
  EXPECT_THAT(sum.values<float>(), testing::ElementsAre(28, 8));
  const Tensor mean = loop.strategy.reduce(Reduction::mean, tensors);
  EXPECT_THAT(mean.values<float>(), testing::ElementsAre(3.5, 1));
  std::vector<Tensor> uneven = tensors.values();
  uneven[3] = Tensor(DType::float32, {5});
  EXPECT_EQ(
      error_message([&] { loop.strategy.reduce(Reduction::sum, PerReplica<Tensor>(uneven)); }),
      "float32 [5] of replica 3 can't be added to replica 0's, float32 [2]; all must be "
      "float32 and of one shape");
  EXPECT_EQ(error_message([&] {
              loop.strategy.each(loop.strategy.shares_of(points(8)),
                                 [](Tape&, const ColumnBatch& share) -> double {
                                   return static_cast<double>(share.column("price").rows());
                                 });
            }).substr(0, 20),
            "step 1, replica 0: t");
}

}  // namespace
}  // namespace infeed
