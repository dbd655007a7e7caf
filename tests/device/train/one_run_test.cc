#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <gmock/gmock.h>
#include <thread>

#include <infeed/device/fit.h>
#include <infeed/device/paced.h>
#include <infeed/device/strategy.h>
#include <infeed/error.h>

#include "device/error_message.h"
#include "device/train/small_training.h"
#include "quiet_run.h"
#include "seeded_random.h"

// One run: a pipeline, a queue a replica, the core's step, and two accounts of it.
namespace infeed {
namespace {

using std::chrono::nanoseconds;

/// Spins by the wall's clock, whatever else the machine does, so that two runs take equally long.
void pass_time(nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

const Slice& slice_of_eight() {
  static const Slice slice = Slice::parse("v3-8");
  return slice;
}

constexpr std::int64_t kRows = 32;

/// Batches that take so long each, made in the thread that asks for them.
Dataset<ColumnBatch> slow_batches(std::int64_t steps, nanoseconds time) {
  return range(steps) | map([time](std::int64_t step) {
           pass_time(time);
           return points(kRows, static_cast<std::uint64_t>(step) + 1);
         });
}

Dataset<ColumnBatch> batches_of(std::int64_t steps) { return slow_batches(steps, nanoseconds(0)); }

struct Shares {
  double wait = 0;
  double transfer = 0;
  double busy = 0;
};

Shares shares_of(const StepSummary& summary) {
  // Compiling happens once and doesn't count in a long run.
  const auto all = static_cast<double>(summary.step_ps - summary.idle_ps);
  return {.wait = static_cast<double>(summary.infeed_wait_ps) / all,
          .transfer = static_cast<double>(summary.transfer_ps) / all,
          .busy = static_cast<double>(summary.compute_ps + summary.all_reduce_ps) / all};
}

std::int64_t sum_of_parts(const StepSummary& summary) {
  return summary.infeed_wait_ps + summary.transfer_ps + summary.idle_ps + summary.compute_ps +
         summary.all_reduce_ps;
}

TEST(OneRun, BothAccountsAddUpAndSayHowMuchIsWaiting) {
  EXPECT_TRUE(test::holds_in_a_quiet_run([] {
    SmallTraining small;
    const FitResult slow =
        fit(small.training(), slice_of_eight(), slow_batches(12, std::chrono::milliseconds(30)),
            {.workload = workload("classifier")});
    for (const StepSummary& account : {slow.wall, slow.simulated}) {
      EXPECT_EQ(account.steps, 12);
      EXPECT_EQ(account.examples, 12 * kRows);
      EXPECT_EQ(sum_of_parts(account), account.step_ps);
    }
    EXPECT_THAT(slow.wall.sentence_with_clock(), testing::StartsWith("On the wall's clock: Your"));
    EXPECT_THAT(slow.simulated.sentence_with_clock(),
                testing::StartsWith("On the device's clock: Your"));
    return slow.wall.verdict == InputVerdict::highly_bound && shares_of(slow.simulated).wait > 0.9;
  }));
  EXPECT_TRUE(test::holds_in_a_quiet_run([] {
    SmallTraining quick;
    const FitResult fast = fit(quick.training(), slice_of_eight(), batches_of(50),
                               {.workload = workload("resnet50-28")});
    return fast.simulated.verdict == InputVerdict::not_bound;
  }));
}

/// Keeps the logs of each execution.
class NotedAccounts : public Callback {
 public:
  std::string_view name() const override { return "noted_accounts"; }
  void on_execution_end(FitControl& fit, const StepLogs&) override { last = fit.accounts(); }

  FitAccounts last;
};

TEST(OneRun, CallbacksSeeTheAccountsOfTheResult) {
  SmallTraining small;
  const auto noted = std::make_shared<NotedAccounts>();
  const Dataset<ColumnBatch> uneven = from_columns(points(40), 16);  // two shapes are compiled
  const FitResult result =
      fit(small.training(), slice_of_eight(), uneven, {.epochs = 2, .callbacks = {noted}});
  const StepSummary steady = result.steady();
  EXPECT_EQ(result.compilations.size(), 2U);
  EXPECT_EQ(noted->last.host.step_ps, result.wall.step_ps);
  EXPECT_EQ(noted->last.slice.steps, 6);
  EXPECT_EQ(noted->last.slice.step_ps, steady.step_ps);
  EXPECT_EQ(noted->last.slice.duty_cycle, steady.duty_cycle);
  const std::int64_t compiled_ps =
      result.compilations[0].compilation_ps + result.compilations[1].compilation_ps;
  EXPECT_EQ(steady.step_ps, result.simulated.step_ps - compiled_ps);
  EXPECT_EQ(sum_of_parts(steady), steady.step_ps);
}

Shares trained(std::int64_t steps, nanoseconds time, const Workload& model) {
  SmallTraining small;
  return shares_of(
      fit(small.training(), slice_of_eight(), slow_batches(steps, time), {.workload = model})
          .simulated);
}

Shares paced(std::int64_t steps, nanoseconds time, const StepTime& step) {
  auto iterator = slow_batches(steps, time).iterate();
  const auto next = [&](DeviceBatch& out) {
    auto batch = iterator.next();
    if (batch) out = device_batch(std::move(*batch));
    return batch.has_value();
  };
  return shares_of(run_paced(slice_of_eight(), {.next = next}, {.step = step}).summary);
}

/// Returns percentage points.
double difference(const Shares& a, const Shares& b) {
  return 100 * std::max({std::abs(a.wait - b.wait), std::abs(a.transfer - b.transfer),
                         std::abs(a.busy - b.busy)});
}

/// run_paced is the referee: the same pipeline and the same step, held by a clock. Other load
/// delays one of the two runs, so the best of some tries counts.
TEST(OneRun, TheDevicesAccountIsWhatPacingMeasures) {
  constexpr int kTries = 30;
  const Workload model = workload("resnet50-28");
  const StepTime step =
      step_time(model, slice_of_eight(), kRows, {.precision = Precision::float32});
  const auto step_ns = static_cast<double>(step.total_ps()) / 1000;
  for (const double share : {2.5, 1.0, 0.3}) {  // input-bound, balanced, compute-bound
    const nanoseconds time(static_cast<std::int64_t>(share * step_ns));
    double points_apart = 100;
    for (int i = 0; i < kTries && points_apart > 3; ++i) {
      points_apart =
          std::min(points_apart, difference(trained(60, time, model), paced(60, time, step)));
    }
    EXPECT_LE(points_apart, 3) << share;
  }
}

/// A prefetch fills up while this machine computes a step that the slice would have done in no
/// time, and next() returns at once: yet the slice would wait for the pipeline.
TEST(OneRun, APipelineThatRunsAheadOfASlowStepIsNoQuickerForIt) {
  EXPECT_TRUE(test::holds_in_a_quiet_run([] {
    SmallTraining small;
    const ReplicaFunction learns = small.forward;
    Training training = small.training();
    training.forward = [learns](Tape& tape, const ColumnBatch& share) {
      pass_time(std::chrono::milliseconds(10));
      return learns(tape, share);
    };
    const FitResult run = fit(training, Slice::parse("v5litepod-1"),
                              slow_batches(100, std::chrono::milliseconds(3)) | prefetch(8),
                              {.workload = workload("classifier")});
    const double wait_ms = static_cast<double>(run.simulated.infeed_wait_ps) * 1e-9 / 100;
    return run.wall.infeed_wait_share < 0.2 && wait_ms > 1.5;
  }));
}

TEST(OneRun, WhatWaitsInTheQueuesIsNoPartOfACheckpoint) {
  const auto data = slow_batches(23, nanoseconds(0)) | prefetch(4);
  const auto weights_of = [&](std::int64_t stop_at, FitOptions options) {
    SmallTraining small;
    TrainingState state;
    class Keep : public Callback {
     public:
      Keep(TrainingState& state, std::int64_t at) : state_(state), at_(at) {}
      std::string_view name() const override { return "keep"; }
      void on_execution_end(FitControl& fit, const StepLogs& logs) override {
        if (logs.step != at_) return;
        state_ = fit.state();
        fit.stop_training("far enough");
      }

     private:
      TrainingState& state_;
      std::int64_t at_;
    };
    options.callbacks = {std::make_shared<Keep>(state, stop_at)};
    options.iterate.order_hash = true;
    const FitResult result = fit(small.training(), slice_of_eight(), data, options);
    std::string place;
    for (const auto& entry : state.bytes) {
      if (entry.name == "pipeline") place = entry.bytes;
    }
    return std::pair(place.empty() ? 0 : Checkpoint::from_text(place).position, result.order_hash);
  };
  for (std::int64_t stop_at = 1; stop_at < 23; ++stop_at) {
    const auto ahead = weights_of(stop_at, {.queue_depth = 5});
    EXPECT_EQ(ahead.first, static_cast<std::uint64_t>(stop_at));
    EXPECT_EQ(ahead, weights_of(stop_at, {.feed = InfeedFeed::on_demand}));
  }
}

TEST(OneRun, AnErrorComesBehindTheStepsBeforeIt) {
  const auto data = range(20) | map([](std::int64_t step) {
                      if (step == 7) throw Error(ErrorCode::data_loss, "the eighth is bad");
                      return points(kRows);
                    });
  for (const InfeedFeed feed : {InfeedFeed::ahead, InfeedFeed::on_demand}) {
    SmallTraining small;
    std::int64_t steps = 0;
    const std::string message = error_message([&] {
      fit(small.training(), slice_of_eight(), data,
          {.feed = feed, .queue_depth = 4, .on_step = [&](std::int64_t step, const Metrics&) {
             steps = step;
           }});
    });
    EXPECT_THAT(message, testing::HasSubstr("the eighth is bad"));
    EXPECT_EQ(steps, 7);
  }
}

TEST(OneRun, NanIsNamedByStepAndReplica) {
  const auto data =
      range(9) | map([](std::int64_t step) {
        ColumnBatch batch = points(kRows);
        if (step != 4) return batch;
        Tensor image = Tensor::copy_of({kRows, 8}, batch.column("image").values<float>());
        image.writable<float>()[22 * 8] = NAN;  // rows 20 to 23 are replica 5's
        return ColumnBatch({{"image", Column::dense(image)}, {"label", batch.column("label")}});
      });
  SmallTraining small;
  EXPECT_THAT(error_message([&] { fit(small.training(), slice_of_eight(), data); }),
              testing::HasSubstr("step 5, replica 5"));
}

TEST(OneRun, EndsWheneverItIsStopped) {
  test::SeededRandom random;
  const auto data = batches_of(1000) | prefetch(2);
  for (int round = 0; round < 1000; ++round) {
    SmallTraining small;
    std::stop_source source;
    std::atomic<bool> begins{false};
    const std::uint64_t spins = random() % 40'000;
    std::jthread stopper([&] {
      while (!begins) std::this_thread::yield();
      for (std::uint64_t i = 0; i < spins; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
      source.request_stop();
    });
    begins = true;
    const FitResult result =
        fit(small.training(), Slice::parse("v5litepod-1"), data,
            {.feed = random() % 4 == 0 ? InfeedFeed::on_demand : InfeedFeed::ahead,
             .queue_depth = static_cast<std::int32_t>(1 + random() % 4),
             .stop = source.get_token()});
    ASSERT_EQ(result.end, RunEnd::cancelled);
  }
}

TEST(OneRun, AStrategyAndADistributedDatasetTrainAsASliceAndADatasetDo) {
  const auto data = from_columns(points(200), 40);
  SmallTraining small;
  const FitResult alone = fit(small.training(), slice_of_eight(), data, {.epochs = 2});

  Cluster cluster = Cluster::connect("v3-8");
  cluster.initialize();
  const Strategy strategy(cluster);
  Scope scope = strategy.scope({.seed = 7});
  const auto forward = classifier(SmallTraining::model_in(scope, 0));
  nn::Adam adam(scope.below("adam"), scope.variables(), {.rate = nn::constant_rate(0.02)});
  const DistributedDataset input = strategy.distribute(data, {.global_batch = 40});
  const FitResult distributed =
      fit({.scope = scope, .forward = forward, .optimizer = &adam}, strategy, input, {.epochs = 2});
  ASSERT_EQ(distributed.epochs.size(), alone.epochs.size());
  EXPECT_EQ(distributed.epochs.back().training, alone.epochs.back().training);
  EXPECT_EQ(distributed.wall.steps, alone.wall.steps);
}

TEST(OneRun, RefusesQueuesAndReplicasThatDoNotMatch) {
  const auto data = from_columns(points(200), 40);
  const auto initialised = [](const char* name) {
    Cluster cluster = Cluster::connect(name);
    cluster.initialize();
    return cluster;
  };
  const Strategy large(initialised("v3-32"));
  const Strategy small(initialised("v3-8"));
  Scope scope = small.scope({.seed = 7});
  const auto forward = classifier(SmallTraining::model_in(scope, 0));
  nn::Adam adam(scope.below("adam"), scope.variables());
  EXPECT_THAT(error_message([&] {
                fit({.scope = scope, .forward = forward, .optimizer = &adam}, small,
                    large.distribute(data, {.global_batch = 40}));
              }),
              testing::HasSubstr("shares of 32 replicas, and there are 8"));
  SmallTraining training;
  EXPECT_THAT(
      error_message([&] { fit(training.training(), slice_of_eight(), data, {.queue_depth = 0}); }),
      testing::HasSubstr("FitOptions::queue_depth is 0; take 1 or more"));
}

}  // namespace
}  // namespace infeed
