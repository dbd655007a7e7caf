#include "infeed/device/trainer.h"

#include <cmath>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <thread>

#include <infeed/error.h>

#include "../../device/replica_work.h"
#include "random_seed.h"

namespace infeed {
namespace {

struct Examples {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::int64_t width;

  GlobalBatch batch(std::int64_t first, std::int64_t count) const {
    return {.examples = count,
            .bytes = count * width * 4,
            .features = FeatureColumn(features.data() + first * width, width),
            .labels = std::span(labels).subspan(static_cast<std::size_t>(first),
                                                static_cast<std::size_t>(count))};
  }
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }

  BatchSource source(std::int64_t per_batch) const {
    return {.next = [this, per_batch, at = std::int64_t{0}](GlobalBatch& out) mutable {
      if (at >= size()) return false;
      const std::int64_t count = std::min(per_batch, size() - at);
      out = batch(at, count);
      at += count;
      return true;
    }};
  }
};

/// Clusters that a linear model nearly separates.
Examples clusters(std::int64_t count, std::int64_t width, std::int32_t classes) {
  std::mt19937_64 random(test_seed());
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> centres(static_cast<std::size_t>(classes * width));
  for (float& value : centres) value = normal(random);
  Examples examples{.features = {}, .labels = {}, .width = width};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(classes));
    examples.labels.push_back(label);
    for (std::int64_t j = 0; j < width; ++j) {
      examples.features.push_back(centres[static_cast<std::size_t>(label * width + j)] +
                                  0.7F * normal(random));
    }
  }
  return examples;
}

ModelSpec small_model() {
  return {.input_features = 12,
          .layers = {{.units = 9, .activation = Activation::relu},
                     {.units = 7, .activation = Activation::linear},
                     {.units = 5, .activation = Activation::softmax}}};
}

TEST(Gradients, AreTheNumericalOnes) {
  const Examples examples = clusters(17, 12, 5);
  DenseModel model(small_model(), {.seed = 3});
  const ReplicaBatch batch = examples.batch(0, 17);
  detail::ReplicaWork work({});
  const auto loss = [&] { return work.forward(model, batch).loss(); };
  loss();
  work.backward(model, batch, 17);
  const std::vector<float> gradients(work.gradients(),
                                     work.gradients() + model.parameters().size());
  double largest = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    constexpr float kStep = 2e-3F;
    const float before = model.parameters()[i];
    model.parameters()[i] = before + kStep;
    const double up = loss();
    model.parameters()[i] = before - kStep;
    const double down = loss();
    model.parameters()[i] = before;
    EXPECT_NEAR(gradients[i], (up - down) / (2.0 * kStep), 2e-3) << "parameter " << i;
    largest = std::max(largest, std::abs(static_cast<double>(gradients[i])));
  }
  EXPECT_GT(largest, 0.05);
}

TEST(Gradients, SumOverReplicasIsThatOfTheGlobalBatchEvenWhenUneven) {
  const Examples examples = clusters(19, 12, 5);
  const auto after_one_step = [&](const char* slice) {
    Trainer trainer(small_model(), Slice::parse(slice), {.seed = 1, .threads = 2});
    const Metrics metrics = trainer.train_step(examples.batch(0, 19));
    EXPECT_EQ(metrics.examples, 19);
    return std::pair(metrics.loss_sum,
                     std::vector<float>(trainer.optimizer().first_moments().begin(),
                                        trainer.optimizer().first_moments().end()));
  };
  const auto [loss_one, moments_one] = after_one_step("v6e-1");     // one replica
  const auto [loss_eight, moments_eight] = after_one_step("v3-8");  // shares of 3 and 2
  const auto [loss_many, moments_many] = after_one_step("v3-32");   // some are empty
  EXPECT_NEAR(loss_one, loss_eight, 1e-6);
  EXPECT_NEAR(loss_one, loss_many, 1e-6);
  for (std::size_t i = 0; i < moments_one.size(); ++i) {
    EXPECT_NEAR(moments_one[i], moments_eight[i], 1e-7);
    EXPECT_NEAR(moments_one[i], moments_many[i], 1e-7);
  }
}

/// Losses and weights, exactly.
std::vector<double> fingerprint(const Examples& examples, TrainerOptions options) {
  Trainer trainer(small_model(), Slice::parse("v3-8"), options);
  std::vector<double> values;
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto source = examples.source(100);  // the last batch has 50
    trainer.train(source, {.on_step = [&](std::int64_t, const Metrics& metrics) {
                    values.push_back(metrics.loss_sum);
                  }});
  }
  for (const float parameter : trainer.model().parameters()) values.push_back(parameter);
  return values;
}

TEST(Trainer, TheSameSeedGivesTheSameBitsOnAnyNumberOfThreads) {
  const Examples examples = clusters(650, 12, 5);
  const auto one = fingerprint(examples, {.seed = 7, .threads = 1});
  for (const int threads : {2, 3, 8, 0}) {
    EXPECT_EQ(one, fingerprint(examples, {.seed = 7, .threads = threads})) << threads;
  }
  EXPECT_NE(one, fingerprint(examples, {.seed = 8, .threads = 2}));
  const auto mixed = fingerprint(examples, {.seed = 7, .mixed_bfloat16 = true, .threads = 1});
  EXPECT_NE(one, mixed);
  EXPECT_EQ(mixed, fingerprint(examples, {.seed = 7, .mixed_bfloat16 = true, .threads = 3}));
}

TEST(Trainer, Learns) {
  const Examples examples = clusters(2000, 12, 5);
  for (const bool mixed : {false, true}) {
    Trainer trainer(small_model(), Slice::parse("v3-8"),
                    {.seed = 1, .adam = {.learning_rate = 0.01}, .mixed_bfloat16 = mixed});
    double first_loss = 0;
    TrainResult result;
    for (int epoch = 0; epoch < 10; ++epoch) {
      auto source = examples.source(128);
      result = trainer.train(source);
      if (epoch == 0) first_loss = result.metrics.loss();
    }
    EXPECT_EQ(result.metrics.examples, 2000);
    EXPECT_EQ(result.steps, 16);
    EXPECT_LT(result.metrics.loss(), first_loss / 2);
    auto source = examples.source(300);
    const TrainResult evaluated = trainer.evaluate(source);
    EXPECT_GT(evaluated.metrics.accuracy(), 0.95);
    EXPECT_EQ(trainer.steps(), 160);  // evaluation takes no step
  }
}

TEST(Trainer, BfloatImagesGiveWhatTheSameFloatsGive) {
  Examples examples = clusters(64, 12, 5);
  std::vector<bfloat16> narrow;
  for (float& value : examples.features) {
    narrow.emplace_back(value);
    value = static_cast<float>(narrow.back());
  }
  const Slice slice = Slice::parse("v3-8");
  Trainer wide(small_model(), slice), from_narrow(small_model(), slice);
  GlobalBatch batch = examples.batch(0, 64);
  const Metrics expected = wide.train_step(batch);
  batch.features = FeatureColumn(narrow.data(), 12);
  EXPECT_EQ(from_narrow.train_step(batch).loss_sum, expected.loss_sum);
  EXPECT_TRUE(std::equal(wide.model().parameters().begin(), wide.model().parameters().end(),
                         from_narrow.model().parameters().begin()));
}

TEST(Trainer, FirstLossIsThatOfAGuess) {
  const Examples examples = clusters(512, 12, 5);
  Trainer trainer(small_model(), Slice::parse("v3-8"));
  EXPECT_NEAR(trainer.evaluate_step(examples.batch(0, 512)).loss(), std::log(5.0), 1.5);
}

TEST(Trainer, LimitsAndStopEndARun) {
  const Examples examples = clusters(1000, 12, 5);
  Trainer trainer(small_model(), Slice::parse("v3-8"));
  auto source = examples.source(100);
  TrainResult result = trainer.train(source, {.steps_max = 4});
  EXPECT_EQ(result.end, RunEnd::steps_max);
  EXPECT_EQ(result.steps, 4);
  result = trainer.train(source);  // goes on
  EXPECT_EQ(result.end, RunEnd::end_of_data);
  EXPECT_EQ(result.steps, 6);

  std::stop_source stop;
  auto again = examples.source(100);
  result =
      trainer.train(again, {.stop = stop.get_token(), .on_step = [&](std::int64_t step, auto&) {
                              if (step == 3) stop.request_stop();
                            }});
  EXPECT_EQ(result.end, RunEnd::cancelled);
  EXPECT_EQ(result.steps, 3);
}

TEST(Trainer, AStopCancelsASourceThatBlocks) {
  Trainer trainer(small_model(), Slice::parse("v3-8"));
  std::promise<void> blocked, cancelled;
  BatchSource source{.next = [&](GlobalBatch&) -> bool {
                       blocked.set_value();
                       cancelled.get_future().wait();
                       throw Error(ErrorCode::cancelled, "cancelled");
                     },
                     .cancel = [&] { cancelled.set_value(); }};
  std::stop_source stop;
  std::jthread stopper([&] {
    blocked.get_future().wait();
    stop.request_stop();
  });
  EXPECT_EQ(trainer.train(source, {.stop = stop.get_token()}).end, RunEnd::cancelled);
}

TEST(Trainer, TimeComesFromTheModel) {
  const Examples examples = clusters(256, 12, 5);
  const Slice slice = Slice::parse("v3-8");
  Trainer trainer(small_model(), slice);
  auto source = examples.source(128);
  trainer.train(source);
  const StepTime time = step_time(workload_of(small_model()), slice, 128);
  const StepSummary simulated = trainer.simulated();
  EXPECT_EQ(simulated.steps, 2);
  EXPECT_EQ(simulated.compute_ps, 2 * time.compute_ps);
  EXPECT_EQ(simulated.all_reduce_ps, 2 * time.all_reduce_ps);
  EXPECT_EQ(simulated.span_ps, 2 * time.total_ps() + simulated.transfer_ps);
  EXPECT_EQ(simulated.infeed_wait_ps, 0);
}

std::string refusal(Trainer& trainer, const GlobalBatch& batch) {
  try {
    trainer.train_step(batch);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  return "accepted";
}

TEST(Trainer, BatchesThatDoNotFitAreRefusedAndChangeNothing) {
  Examples examples = clusters(16, 12, 5);
  Trainer trainer(small_model(), Slice::parse("v3-8"));
  const std::vector<float> before(trainer.model().parameters().begin(),
                                  trainer.model().parameters().end());
  examples.labels[3] = 5;
  EXPECT_EQ(refusal(trainer, examples.batch(0, 16)),
            "label 5 of example 3 in its batch; model 12-9(relu)-7(linear)-5(softmax) has classes "
            "0 to 4");
  examples.labels[3] = -1;
  EXPECT_THAT(refusal(trainer, examples.batch(0, 16)),
              testing::StartsWith("label -1 of example 3"));
  GlobalBatch batch = examples.batch(0, 2);
  batch.features.features_per_example = 11;
  EXPECT_THAT(refusal(trainer, batch), testing::StartsWith("a batch has 11 features an example"));
  batch.features = {};
  EXPECT_THAT(refusal(trainer, batch), testing::StartsWith("a batch has 0 features an example"));
  batch = examples.batch(0, 2);
  batch.labels = batch.labels.first(1);
  EXPECT_EQ(refusal(trainer, batch), "a batch of 2 examples has 1 labels; expected one an example");
  EXPECT_THAT(refusal(trainer, {}), testing::StartsWith("a batch without examples"));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), trainer.model().parameters().begin()));
  EXPECT_EQ(trainer.steps(), 0);
  EXPECT_THROW(Trainer(small_model(), Slice::parse("v3-8"), {.threads = -1}), Error);
}

TEST(ModelSpec, OnlyNetworksThatEndInSoftmaxAreTaken) {
  EXPECT_EQ(classifier_784_128_10().to_string(), "784-128(relu)-10(softmax)");
  EXPECT_EQ(DenseModel(classifier_784_128_10()).parameters().size(), 101'770u);
  const auto refused = [](ModelSpec spec) {
    try {
      spec.check();
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument;
    }
  };
  EXPECT_TRUE(refused({.input_features = 4}));
  EXPECT_TRUE(refused({.input_features = 4, .layers = {{.units = 2}}}));
  EXPECT_TRUE(refused({.input_features = 0, .layers = {{2, Activation::softmax}}}));
  EXPECT_TRUE(refused({.input_features = 4, .layers = {{0, Activation::softmax}}}));
  EXPECT_TRUE(refused(
      {.input_features = 4, .layers = {{2, Activation::softmax}, {2, Activation::softmax}}}));
  EXPECT_TRUE(refused({.input_features = 1 << 20, .layers = {{1 << 20, Activation::softmax}}}));
}

TEST(DenseModel, StartsGlorotUniform) {
  const DenseModel model(classifier_784_128_10(), {.seed = 5});
  const double limit = std::sqrt(6.0 / (784 + 128));
  const ParameterTensor& kernel = model.tensors()[0];
  double sum = 0, squares = 0, largest = 0;
  for (std::int64_t i = 0; i < kernel.size; ++i) {
    const double value = model.parameters()[static_cast<std::size_t>(kernel.offset + i)];
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::abs(value));
  }
  const double count = static_cast<double>(kernel.size);
  EXPECT_LE(largest, limit);
  EXPECT_GT(largest, 0.999 * limit);
  EXPECT_NEAR(sum / count, 0, limit / 100);
  EXPECT_NEAR(squares / count, limit * limit / 3, limit * limit / 100);
  EXPECT_EQ(model.tensors()[1].name, "dense_0/bias");
  EXPECT_EQ(model.parameters()[static_cast<std::size_t>(model.tensors()[1].offset)], 0);
}

}  // namespace
}  // namespace infeed
