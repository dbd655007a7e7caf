#include "infeed/device/models.h"

#include <atomic>
#include <barrier>
#include <gmock/gmock.h>
#include <string>
#include <thread>
#include <vector>

#include <infeed/device/optimizers.h>

#include "device/nn/gradient_check.h"

namespace infeed {
namespace {

/// Four classes, which the places of their bright rows tell apart.
struct Pictures {
  explicit Pictures(std::int64_t count) : count_of_examples(count) {
    for (std::int64_t i = 0; i < count; ++i) {
      labels.push_back(static_cast<std::int32_t>(i * 7 % 4));
      for (int pixel = 0; pixel < 784; ++pixel) {
        const bool bright = pixel / 28 / 7 == labels.back();
        pixels.push_back(bright ? 1.0F : 0.25F * static_cast<float>((pixel + i * i) % 3));
      }
    }
  }
  std::int64_t count_of_examples;
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
};

std::vector<float> losses_of(std::string_view name, Precision precision, VectorWidth width,
                             int steps) {
  Scope scope({.seed = 3});
  const auto model = nn::model_named(name, scope);
  nn::Adam adam(scope.below("adam"), scope.variables());
  const Pictures batch(8);
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    Tape tape({.training = true,
               .precision = precision,
               .width = width,
               .seed = 1,
               .step = static_cast<std::uint64_t>(step)});
    const TapeValue x = tape.constant(Tensor::copy_of<float>({8, 784}, batch.pixels));
    const TapeValue loss = nn::average_loss(
        tape, nn::softmax_cross_entropy(tape, model->apply(tape, x), batch.labels), 8);
    losses.push_back(loss.item());
    const Gradients gradients = tape.gradients(loss);
    adam.apply(gradients);
  }
  return losses;
}

TEST(Models, EachLearnsEightPictures) {
  for (const std::string_view name : nn::model_names()) {
    const auto losses = losses_of(name, Precision::float32, VectorWidth::widest, 25);
    EXPECT_GT(losses.front(), 1.5F) << name;
    EXPECT_LT(losses.back(), 0.5F * losses.front()) << name;
  }
}

TEST(SameBits, OfModelsAtEveryVectorWidth) {
  for (const std::string_view name : nn::model_names()) {
    for (const Precision precision : {Precision::float32, Precision::mixed_bfloat16}) {
      const auto at = [&](VectorWidth width) { return losses_of(name, precision, width, 2); };
      const std::vector<float> narrow = at(VectorWidth::bits_128);
      EXPECT_EQ(at(VectorWidth::bits_256), narrow) << name;
      EXPECT_EQ(at(VectorWidth::bits_512), narrow) << name;
    }
  }
}

TEST(Models, UnknownNamesGetTheKnownOnes) {
  Scope scope;
  EXPECT_EQ(error_message([&] { nn::model_named("lenet", scope); }),
            "there is no model 'lenet'; take one of mlp, convnet, resnet, transformer");
  EXPECT_EQ(error_message([&] { nn::rate_for_model("vgg", 100); }),
            "there is no model 'vgg'; take one of mlp, convnet, resnet, transformer");
}

TEST(Models, RatesWarmUpAndFade) {
  const nn::Schedule rate = nn::rate_for_model("convnet", 3000);
  EXPECT_DOUBLE_EQ(rate(0), 2e-3 / 200);
  EXPECT_DOUBLE_EQ(rate(200), 2e-3);
  EXPECT_NEAR(rate(3000), 2e-3 / 50, 1e-12);
  EXPECT_DOUBLE_EQ(nn::rate_for_model("transformer", 1)(0), 3e-3);
  EXPECT_DOUBLE_EQ(nn::rate_for_model("resnet", 1)(0), 5e-3);
}

TEST(Models, TheResnetHasAShortcutWhereTheShapeChanges) {
  Scope scope;
  nn::resnet(scope);
  std::vector<std::string> shortcuts;
  std::int64_t trained = 0;
  std::int64_t statistics = 0;
  for (const Variable& variable : scope.variables()) {
    (variable.trainable() ? trained : statistics) += variable.shape().items();
    EXPECT_THAT(variable.name(), testing::Not(testing::HasSubstr("convolution/bias")));
    if (variable.name().ends_with("shortcut/convolution/kernel")) {
      shortcuts.push_back(variable.name() + " " + variable.shape().to_string());
    }
  }
  EXPECT_THAT(shortcuts,
              testing::ElementsAre("block_2/shortcut/convolution/kernel [1, 1, 16, 32]",
                                   "block_3/shortcut/convolution/kernel [1, 1, 32, 64]"));
  // Channels of each norm, in the order of the network.
  constexpr std::int64_t kNormalised = 16 + 2 * 16 + 3 * 32 + 3 * 64;
  EXPECT_EQ(statistics, 2 * kNormalised);
  const std::int64_t kernels =
      9 * (16 + 2 * 16 * 16 + (16 + 32) * 32 + (32 + 64) * 64) + 16 * 32 + 32 * 64;
  EXPECT_EQ(trained, kernels + 2 * kNormalised + 64 * 10 + 10);
}

TEST(Models, TheResnetKeepsItsStatisticsUnderTheirNames) {
  Scope scope({.seed = 3});
  const nn::Sequential model = nn::resnet(scope);
  const Pictures batch(8);
  Tape tape({.training = true});
  const TapeValue logits =
      model.apply(tape, tape.constant(Tensor::copy_of<float>({8, 784}, batch.pixels)));
  EXPECT_EQ(logits.shape(), (Shape{8, 10}));
  ASSERT_EQ(tape.updates().size(), 18U);  // a mean and a variance of nine norms
  EXPECT_EQ(tape.updates()[0].first.name(), "first/norm/mean");
  EXPECT_EQ(tape.updates()[1].first.name(), "first/norm/variance");
  // A tenth of the batch's: 0.9 of a variance of 1 stays.
  const float variance = tape.updates()[1].second.values<float>()[0];
  EXPECT_GT(variance, 0.9F);
  EXPECT_LT(variance, 1.1F);
}

/// Adds up the values of replicas on separate threads.
class ThreadedSum : public Collective {
 public:
  explicit ThreadedSum(std::size_t replicas)
      : brought_(replicas), barrier_(static_cast<std::ptrdiff_t>(replicas)) {}

  void sum(std::int32_t replica, std::span<float> values) override {
    brought_[static_cast<std::size_t>(replica)] = values;
    barrier_.arrive_and_wait();
    std::vector<float> total(values.size());
    for (const std::span<float> part : brought_) {
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
    }
    barrier_.arrive_and_wait();  // all have read before anybody writes
    std::ranges::copy(total, values.begin());
    calls += replica == 0 ? 1 : 0;
  }

  std::atomic<int> calls = 0;

 private:
  std::vector<std::span<float>> brought_;
  std::barrier<> barrier_;
};

struct Normalised {
  std::vector<float> y;
  std::vector<float> gradients;  ///< over all variables, added up over the replicas
  std::vector<float> inputs;     ///< gradients
  std::vector<float> updates;
};

/// Runs a batch norm of six examples of two features, given to replicas in these shares.
Normalised normalised_over(const std::vector<std::int64_t>& shares) {
  std::vector<float> x;
  for (int i = 0; i < 12; ++i) x.push_back(static_cast<float>(i * i % 7) + 20.0F);
  Scope scope;
  nn::BatchNorm layer(scope.below("norm"), 2, {.synchronised = true});
  const auto collective = std::make_shared<ThreadedSum>(shares.size());
  std::vector<Normalised> parts(shares.size());
  std::vector<std::thread> threads;
  std::int64_t first = 0;
  for (std::size_t r = 0; r < shares.size(); first += shares[r], ++r) {
    const Tensor mine = Tensor::copy_of<float>({6, 2}, x).slice(first, shares[r]);
    threads.emplace_back([&, r, mine] {
      Scope of_replica;
      Variable examples = of_replica.variable("x", mine.shape(), Initializer::zeros);
      examples.assign(mine);
      Tape tape(
          {.training = true, .replica = static_cast<std::int32_t>(r), .collective = collective});
      const TapeValue y = layer.apply(tape, tape.read(examples));
      parts[r].y.assign(y.values().begin(), y.values().end());
      const TapeValue loss = nn::sum(tape, nn::tanh(tape, nn::tanh(tape, y)));
      for (const auto& [variable, gradient] : tape.gradients(loss)) {
        auto& into = variable == examples ? parts[r].inputs : parts[r].gradients;
        const std::span<const float> values = gradient.values<float>();
        into.insert(into.end(), values.begin(), values.end());
      }
      for (const auto& [variable, value] : tape.updates()) {
        const std::span<const float> values = value.values<float>();
        parts[r].updates.insert(parts[r].updates.end(), values.begin(), values.end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(collective->calls, 3);  // means, variances, and backward
  Normalised all;
  for (const Normalised& part : parts) {
    all.y.insert(all.y.end(), part.y.begin(), part.y.end());
    all.inputs.insert(all.inputs.end(), part.inputs.begin(), part.inputs.end());
    all.gradients.resize(part.gradients.size());
    for (std::size_t i = 0; i < part.gradients.size(); ++i) all.gradients[i] += part.gradients[i];
    EXPECT_EQ(part.updates, parts[0].updates);
  }
  all.updates = parts[0].updates;
  return all;
}

TEST(SyncBatchNorm, ReplicasNormaliseByTheExamplesOfAll) {
  const Normalised alone = normalised_over({6});
  const auto near = testing::Pointwise(testing::FloatNear(1e-5F), alone.y);
  for (const std::vector<std::int64_t>& shares :
       {std::vector<std::int64_t>{3, 3}, {2, 2, 2}, {5, 1, 0}}) {
    const Normalised together = normalised_over(shares);
    EXPECT_THAT(together.y, near);
    EXPECT_THAT(together.inputs, testing::Pointwise(testing::FloatNear(1e-5F), alone.inputs));
    EXPECT_THAT(together.gradients, testing::Pointwise(testing::FloatNear(1e-5F), alone.gradients));
    EXPECT_THAT(together.updates, testing::Pointwise(testing::FloatNear(1e-5F), alone.updates));
  }
}

}  // namespace
}  // namespace infeed
