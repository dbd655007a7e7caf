#include "infeed/device/fit.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <limits>

#include <infeed/error.h>

#include "device/error_message.h"
#include "device/train/small_training.h"
#include "temporary_folder.h"

namespace infeed {
namespace {

const Slice& one_chip() {
  static const Slice slice = Slice::parse("v5litepod-1");
  return slice;
}
const Slice& eight_replicas() {
  static const Slice slice = Slice::parse("v3-8");
  return slice;
}

struct Outcome {
  FitResult result;
  std::vector<double> losses;
  std::vector<std::vector<float>> weights;
};

Outcome run_small(const Slice& slice, const Dataset<ColumnBatch>& batches, FitOptions options,
                  double dropout_rate = 0) {
  SmallTraining small(dropout_rate);
  Outcome run;
  options.on_step = [&](std::int64_t, const Metrics& m) { run.losses.push_back(m.loss()); };
  run.result = fit(small.training(), slice, batches, options);
  run.weights = small.weights();
  return run;
}

double largest_difference(const Outcome& a, const Outcome& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    for (std::size_t j = 0; j < a.weights[i].size(); ++j) {
      largest = std::max<double>(largest, std::abs(a.weights[i][j] - b.weights[i][j]));
    }
  }
  return largest;
}

TEST(Fit, LearnsAndCountsWhatItDid) {
  const Outcome run = run_small(eight_replicas(), from_columns(points(256), 32),
                                {.epochs = 6, .validation = from_columns(points(96, 2), 40)});
  EXPECT_EQ(run.result.steps, 48);
  EXPECT_EQ(run.result.end, RunEnd::end_of_data);
  ASSERT_EQ(run.result.epochs.size(), 6U);
  const EpochLogs& first = run.result.epochs.front();
  const EpochLogs& last = run.result.epochs.back();
  EXPECT_EQ(first.steps, 8);
  EXPECT_EQ(first.training.examples, 256);
  EXPECT_GT(first.training.loss(), 0.5);
  EXPECT_LT(last.training.loss(), 0.5 * first.training.loss());
  ASSERT_TRUE(last.validation);
  EXPECT_EQ(last.validation->examples, 96);
  EXPECT_GT(last.validation->accuracy(), 0.95);
  EXPECT_EQ(last.epoch, 5);
}

TEST(Fit, EvaluateChangesNothing) {
  SmallTraining small;
  const auto before = small.weights();
  const Metrics metrics = evaluate(small.forward, eight_replicas(), from_columns(points(96), 40));
  EXPECT_EQ(metrics.examples, 96);
  EXPECT_NEAR(metrics.loss(), 1.1, 0.5);
  EXPECT_EQ(small.weights(), before);
}

TEST(SameBits, OfFitOnAnyNumberOfThreads) {
  const auto batches = from_columns(points(100), 21);
  const auto with_threads = [&](std::int32_t threads) {
    return run_small(eight_replicas(), batches, {.epochs = 2, .threads = threads}, 0.3);
  };
  const Outcome one = with_threads(1);
  for (const std::int32_t threads : {2, 3, 8}) {
    const Outcome many = with_threads(threads);
    EXPECT_EQ(many.weights, one.weights) << threads;
    EXPECT_EQ(many.losses, one.losses) << threads;
  }
}

/// 21 rows over 8 replicas: five of them have 3, three have 2; of the last batch, 4 rows, half the
/// replicas have none.
TEST(SameBits, EightReplicasOfFitAreOneWithin1e5) {
  const auto batches = from_columns(points(88), 21);
  const Outcome one = run_small(one_chip(), batches, {.epochs = 3});
  const Outcome eight = run_small(eight_replicas(), batches, {.epochs = 3});
  EXPECT_LT(largest_difference(one, eight), 1e-5);
  EXPECT_GT(largest_difference(one, run_small(one_chip(), batches, {.epochs = 2})), 1e-3);
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(one.losses[i], eight.losses[i], 1e-5);
  }
}

TEST(SameBits, FourAccumulatedBatchesOfFitAreOneOfFourTimesTheSizeWithin1e6) {
  // 100 rows: the last group of 4 times 8 is one batch of 4 rows.
  for (const std::int64_t rows : {96, 100}) {
    const Outcome accumulated = run_small(eight_replicas(), from_columns(points(rows), 8),
                                          {.epochs = 2, .batches_per_update = 4});
    const Outcome large =
        run_small(eight_replicas(), from_columns(points(rows), 32), {.epochs = 2});
    EXPECT_LT(largest_difference(accumulated, large), 1e-6) << rows;
  }
}

TEST(Fit, CallbacksComeEveryExecution) {
  struct Counter : Callback {
    std::string_view name() const override { return "counter"; }
    void on_begin(FitControl&) override { calls.emplace_back("begin"); }
    void on_execution_end(FitControl&, const StepLogs& logs) override {
      calls.push_back(std::to_string(logs.steps) + " steps to " + std::to_string(logs.step));
      EXPECT_EQ(logs.training.examples, 10 * logs.steps);
    }
    void on_epoch_end(FitControl&, const EpochLogs&) override { calls.emplace_back("epoch"); }
    std::vector<std::string> calls;
  };
  const auto counter = std::make_shared<Counter>();
  run_small(one_chip(), from_columns(points(50), 10),
            {.epochs = 2, .steps_per_execution = 3, .callbacks = {counter}});
  EXPECT_THAT(counter->calls, testing::ElementsAre("begin", "3 steps to 3", "2 steps to 5", "epoch",
                                                   "3 steps to 8", "2 steps to 10", "epoch"));
  const auto of_a_worker = std::make_shared<Counter>();
  run_small(one_chip(), from_columns(points(50), 10),
            {.callbacks = {of_a_worker}, .worker = {.index = 1}});
  EXPECT_TRUE(of_a_worker->calls.empty());
}

TEST(Fit, OneIterationGoesOnThroughAllEpochs) {
  const auto endless = from_columns(points(50), 10) | repeat();
  const Outcome run = run_small(one_chip(), endless, {.epochs = 3, .steps_per_epoch = 4});
  EXPECT_EQ(run.result.steps, 12);
  EXPECT_EQ(run.result.epochs.size(), 3U);
  EXPECT_EQ(error_message([&] {
              run_small(one_chip(), from_columns(points(50), 10),
                        {.epochs = 3, .steps_per_epoch = 4});
            }),
            "the data ended after 1 of the 4 steps of epoch 2; put repeat() into the dataset, or "
            "leave steps_per_epoch at 0 for one iteration an epoch");
}

TEST(Fit, AnyFunctionIsTrained) {
  Scope scope({.seed = 1});
  const nn::Dense line(scope.below("line"), 8, 1);
  nn::Sgd sgd(scope.below("sgd"), scope.variables(), {.rate = nn::constant_rate(0.05)});
  const ReplicaFunction forward = [&](Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    const TapeValue found = line.apply(tape, tape.constant(share.column("image").values()));
    const TapeValue wanted =
        tape.constant(share.column("label").values().reshaped({share.rows(), 1}));
    return {.losses = nn::mean_squared_error(tape, found, wanted)};
  };
  const FitResult result = fit({.scope = scope, .forward = forward, .optimizer = &sgd},
                               eight_replicas(), from_columns(points(96), 32), {.epochs = 20});
  EXPECT_LT(result.epochs.back().training.loss(), 0.3 * result.epochs.front().training.loss());
  EXPECT_EQ(result.epochs.back().training.correct, 0);
}

TEST(Fit, MixedFloat16TakesALossScale) {
  SmallTraining small;
  const FitOptions options{.epochs = 4, .precision = Precision::mixed_float16};
  const auto batches = from_columns(points(96), 32);
  EXPECT_EQ(error_message([&] { fit(small.training(), one_chip(), batches, options); }),
            "mixed_float16 without Training::loss_scale: gradients below 2^-24 would vanish; make "
            "an nn::LossScale in the scope, or take mixed_bfloat16, which needs none");
  Training training = small.training();
  training.loss_scale = &small.loss_scale;
  const FitResult result = fit(training, one_chip(), batches, options);
  EXPECT_LT(result.epochs.back().training.loss(), 0.9 * result.epochs.front().training.loss());
  EXPECT_EQ(small.loss_scale.scale(), 32768);
}

TEST(Fit, ClipsTheGradientsOfAllVariablesTogether) {
  const auto batches = from_columns(points(32), 32);
  SmallTraining small;
  nn::Sgd sgd(small.scope.below("sgd"), small.scope.variables(), {.rate = nn::constant_rate(1)});
  Training training = small.training();
  training.optimizer = &sgd;
  const auto before = small.weights();
  fit(training, one_chip(), batches, {.clip_norm = 1e-3});
  const auto after = small.weights();
  double squares = 0;
  for (std::size_t i = 0; i < 4; ++i) {  // the model's
    for (std::size_t j = 0; j < before[i].size(); ++j) {
      squares += std::pow(after[i][j] - before[i][j], 2);
    }
  }
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 1e-6);
}

TEST(Fit, TimesOfTheSliceComeFromTheCostModel) {
  const Outcome run = run_small(eight_replicas(), from_columns(points(64), 32),
                                {.workload = workload("classifier")});
  EXPECT_EQ(run.result.simulated.steps, 2);
  const StepTime time = step_time(workload("classifier"), eight_replicas(), 32);
  // Both steps have the same shape, for which the first one is compiled.
  ASSERT_EQ(run.result.compilations.size(), 1U);
  EXPECT_EQ(run.result.simulated.idle_ps, run.result.compilations[0].compilation_ps);
  const StepSummary& simulated = run.result.simulated;
  const std::int64_t span_ps = simulated.span_ps - simulated.idle_ps - simulated.infeed_wait_ps;
  EXPECT_GE(span_ps, 2 * time.total_ps());
  EXPECT_LT(span_ps, 3 * time.total_ps());
}

TEST(Fit, AStopEndsBeforeTheNextStep) {
  SmallTraining small;
  std::stop_source source;
  const FitResult result =
      fit(small.training(), one_chip(), from_columns(points(64), 8),
          {.stop = source.get_token(), .on_step = [&](std::int64_t step, const Metrics&) {
             if (step == 3) source.request_stop();
           }});
  EXPECT_EQ(result.end, RunEnd::cancelled);
  EXPECT_EQ(result.steps, 3);
  EXPECT_TRUE(result.epochs.empty());
}

/// SyncBN: the statistics of eight replicas equal those of one with all rows. With 5 rows in the
/// last batch three replicas have none.
TEST(SameBits, SynchronisedStatisticsOfFitAreThoseOfOneReplicaWithin1e5) {
  const auto run = [](const Slice& slice, bool synchronised) {
    Scope scope({.seed = 3});
    const nn::Dense hidden(scope.below("hidden"), 8, 6);
    const nn::BatchNorm norm(scope.below("norm"), 6, {.synchronised = true});
    const nn::Dense logits(scope.below("logits"), 6, 3);
    const auto model = std::make_shared<nn::Sequential>();
    model->add(hidden).add(norm).add(nn::Activate(nn::Activation::tanh)).add(logits);
    nn::Sgd sgd(scope.below("sgd"), scope.variables(), {.rate = nn::constant_rate(0.1)});
    fit({.scope = scope, .forward = classifier(model), .optimizer = &sgd}, slice,
        from_columns(points(69), 16), {.epochs = 2, .synchronised = synchronised});
    Outcome outcome;
    for (const Variable& variable : scope.variables()) {
      const Tensor value = variable.value();
      outcome.weights.emplace_back(value.values<float>().begin(), value.values<float>().end());
    }
    return outcome;
  };
  const Outcome one = run(one_chip(), false);
  EXPECT_LT(largest_difference(one, run(eight_replicas(), true)), 1e-5);
  EXPECT_GT(largest_difference(one, run(eight_replicas(), false)), 1e-3);
}

TEST(FitErrors, AReplicaThatFailsEndsTheOthersThatWaitForIt) {
  Scope scope({.seed = 3});
  const nn::BatchNorm norm(scope.below("norm"), 8, {.synchronised = true});
  nn::Sgd sgd(scope.below("sgd"), scope.variables(), {.rate = nn::constant_rate(0.1)});
  const auto message_of = [&](std::int32_t odd, bool throws) {
    const ReplicaFunction forward = [&, odd, throws](Tape& tape, const ColumnBatch& share) {
      TapeValue x = tape.constant(share.column("image").values());
      const bool is_odd = tape.options().replica == odd;
      if (is_odd && throws) throw Error(ErrorCode::unavailable, "it fell over");
      if (!is_odd) x = norm.apply(tape, x);
      return ReplicaResult{.losses = nn::mean_squared_error(tape, x, x)};
    };
    return error_message([&] {
      fit({.scope = scope, .forward = forward, .optimizer = &sgd}, eight_replicas(),
          from_columns(points(32), 16), {.synchronised = true});
    });
  };
  for (const std::int32_t odd : {0, 5, 7}) {
    EXPECT_EQ(message_of(odd, true), "step 1, replica " + std::to_string(odd) + ": it fell over");
    EXPECT_THAT(message_of(odd, false),
                testing::HasSubstr("the replicas don't add up the same values in this step"));
  }
}

TEST(Fit, StepsAreRecordedForTheProfiler) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.profile");
  run_small(eight_replicas(), from_columns(points(64), 16),
            {.epochs = 1, .iterate = {.recording = {.file = file}}});
  const std::string lines = read_whole(file);
  // Number, begin, wait, transfer, compute, all-reduce, idle, elements; of each of the four steps.
  EXPECT_THAT(lines,
              testing::ContainsRegex("\\{\"steps\": \\[\\[0,[0-9,]*,1\\],\\[1,[0-9,]*,1\\],"
                                     "\\[2,[0-9,]*,1\\],\\[3,[0-9,]*,1\\]\\], \"measured\": true"));
}

/// The points with one feature and one label replaced.
ColumnBatch spoilt(std::int64_t row, float feature, std::int64_t label) {
  const ColumnBatch good = points(32);
  Tensor features = Tensor::copy_of({32, 8}, good.column("image").values<float>());
  Tensor labels = Tensor::copy_of({32}, good.column("label").values<std::int64_t>());
  features.writable<float>()[static_cast<std::size_t>(row * 8 + 3)] = feature;
  labels.writable<std::int64_t>()[static_cast<std::size_t>(row)] = label;
  return ColumnBatch({{"image", Column::dense(features)}, {"label", Column::dense(labels)}});
}

std::string fit_message(const ColumnBatch& all, FitOptions options = {}) {
  return error_message([&] { run_small(eight_replicas(), from_columns(all, 16), options); });
}

TEST(FitErrors, BadDataIsNamedWithStepAndReplica) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  // Row 21 is row 5 of the second batch, of whose 16 rows each replica has two.
  EXPECT_EQ(fit_message(spoilt(21, nan, 0)),
            "step 2, replica 2: column 'image' of row 5 of the batch holds NaN or infinity at item "
            "3; mend the data, or leave the row out with a filter");
  EXPECT_EQ(fit_message(spoilt(0, -infinity, 0)),
            "step 1, replica 0: column 'image' of row 0 of the batch holds NaN or infinity at item "
            "3; mend the data, or leave the row out with a filter");
  EXPECT_EQ(fit_message(spoilt(31, 0, 3)),
            "step 2, replica 7: label 3 of example 1 in its batch; the model has classes 0 to 2");
  EXPECT_EQ(
      fit_message(spoilt(1, 0, std::int64_t{1} << 40)),
      "step 1, replica 0: label 2147483647 of example 1 in its batch; the model has classes 0 "
      "to 2");
  EXPECT_EQ(fit_message(spoilt(1, 1e38F, 0)), "accepted");
}

TEST(FitErrors, NaNInLossOrGradientIsNamed) {
  SmallTraining small;
  const ReplicaFunction logarithm = [&](Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    const ReplicaResult good = small.forward(tape, share);
    Tensor losses = Tensor::copy_of(good.losses.shape(), good.losses.values());
    losses.writable<float>()[1] = std::log(-1.0F);
    return {.losses = tape.constant(losses)};
  };
  Training training = small.training();
  training.forward = logarithm;
  const auto batches = from_columns(points(32), 16);
  EXPECT_EQ(error_message([&] { fit(training, eight_replicas(), batches); }),
            "step 1, replica 0: the loss of row 1 of the batch is nan; the data is finite, so take "
            "a lower learning rate, or clip_norm");
  training.forward = [&](Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    const ReplicaResult good = small.forward(tape, share);
    return {.losses =
                tape.record("spoil", good.losses.tensor(), {good.losses}, [](const Tensor& dy) {
                  Tensor dx(DType::float32, dy.shape());
                  std::ranges::fill(dx.writable<float>(), std::numeric_limits<float>::infinity());
                  return std::vector<Tensor>{dx};
                })};
  };
  const auto before = small.weights();
  EXPECT_EQ(error_message([&] { fit(training, one_chip(), batches); }),
            "step 1: the gradient of hidden/bias holds NaN or infinity, though the loss is "
            "finite; take a lower learning rate, or clip_norm");
  EXPECT_EQ(small.weights(), before);
}

TEST(FitErrors, ShapesAndSharesThatDoNotFit) {
  const ColumnBatch good = points(32);
  EXPECT_EQ(
      fit_message(points(36), {.even_shares_only = true}),
      "step 3: a batch of 4 rows isn't divisible by 8 replicas; take a batch of a multiple of "
      "them with drop_remainder, or allow uneven shares");
  EXPECT_EQ(fit_message(points(36)), "accepted");
  EXPECT_THAT(
      fit_message(ColumnBatch({{"image", good.column("label")}, {"label", good.column("label")}})),
      testing::StartsWith("step 1, replica 0: "));
  EXPECT_EQ(
      fit_message(ColumnBatch({{"image", good.column("image")}, {"label", good.column("image")}})),
      "step 1, replica 0: column 'label' is dense of float32 [8]; expected one int32, int64 "
      "or uint8 a row, the number of its class");
  EXPECT_THAT(fit_message(ColumnBatch({{"image", good.column("image")}})),
              testing::StartsWith("step 1, replica 0: "));
  SmallTraining small;
  Training training = small.training();
  training.forward = [&](Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    const ReplicaResult result = small.forward(tape, share);
    return {.losses = nn::sum(tape, result.losses)};
  };
  EXPECT_EQ(error_message([&] { fit(training, one_chip(), from_columns(good, 16)); }),
            "step 1, replica 0: the function gave losses [] for 16 examples; expected one an "
            "example, [16]");
}

TEST(FitErrors, OptionsAreChecked) {
  EXPECT_EQ(fit_message(points(32), {.batches_per_update = 0}),
            "FitOptions::batches_per_update is 0; take 1 or more");
  EXPECT_EQ(fit_message(points(32), {.clip_norm = -1}),
            "FitOptions::clip_norm is -1; take 0 or more");
  EXPECT_EQ(fit_message(points(32), {.callbacks = {std::make_shared<TensorBoard>("a"),
                                                   std::make_shared<TensorBoard>("b")}}),
            "two callbacks are named 'tensor_board', under which a checkpoint holds one; give one "
            "of them another name()");
  EXPECT_EQ(error_message([&] {
              run_small(one_chip(), from_columns(points(8), 16, {.drop_remainder = true}), {});
            }),
            "the dataset gave no batch in epoch 1; fewer rows than a batch with drop_remainder "
            "give none");
}

}  // namespace
}  // namespace infeed
