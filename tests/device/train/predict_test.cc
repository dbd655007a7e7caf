#include <algorithm>
#include <gmock/gmock.h>
#include <limits>
#include <numeric>
#include <stop_token>

#include <infeed/device/fit.h>
#include <infeed/device/models.h>
#include <infeed/device/operations.h>
#include <infeed/device/strategy.h>
#include <infeed/error.h>

#include "device/error_message.h"
#include "device/train/small_training.h"

namespace infeed {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// The order of the rows in a column: 0, 1, 2, ...
ColumnBatch numbered_rows(std::int64_t rows, std::int64_t width = 1) {
  Tensor numbers(DType::float32, {rows, width});
  std::iota(numbers.writable<float>().begin(), numbers.writable<float>().end(), 0.0F);
  return ColumnBatch({{"image", Column::dense(numbers)}});
}

TapeValue as_it_is(Tape& tape, const ColumnBatch& share) {
  return tape.constant(share.column("image").values());
}

/// 45 rows in batches of 21: over 8 replicas shares are uneven, and the last batch of 3 leaves five
/// without rows. Each model takes another way: products, convolutions, attention.
TEST(SameBits, OfPredictOnAnyNumberOfReplicasAndThreads) {
  Tensor pixels(DType::float32, {45, 784});
  Philox random(5, 0);
  for (float& pixel : pixels.writable<float>())
    pixel = static_cast<float>(random() >> 8) * 0x1p-24F;
  const ColumnBatch images({{"image", Column::dense(pixels)}});
  for (const std::string_view name : nn::model_names()) {
    const auto model = nn::model_named(name, Scope({.seed = 3}));
    Tape tape;
    const Tensor whole = model->apply(tape, tape.constant(pixels)).tensor();
    ASSERT_EQ(whole.shape(), Shape({45, 10}));
    for (const std::string_view slice : {"v5litepod-1", "v3-8", "v3-32"}) {
      for (const std::int32_t threads : {1, 3}) {
        EXPECT_EQ(predict(predictor(model), Slice::parse(slice), from_columns(images, 21),
                          {.threads = threads}),
                  whole)
            << name << " on " << slice << " with " << threads << " threads";
      }
    }
  }
}

TEST(Predict, KeepsTheDatasetsOrderAndNeedsNoLabels) {
  for (const std::int64_t rows : {1, 7, 8, 30, 33}) {
    const ColumnBatch numbers = numbered_rows(rows, 2);
    const Tensor found =
        predict(as_it_is, Slice::parse("v3-8"), from_columns(numbers, 11) | shuffle({.buffer = 1}));
    EXPECT_EQ(found, numbers.column("image").values()) << rows;
  }
}

/// The class with the largest logit is the one that evaluate() counts.
TEST(Predict, GivesWhatEvaluateCounts) {
  const Slice slice = Slice::parse("v3-8");
  Scope scope({.seed = 7});
  const auto model = SmallTraining::model_in(scope, 0);
  nn::Adam adam(scope.below("adam"), scope.variables(), {.rate = nn::constant_rate(0.02)});
  const ReplicaFunction forward = classifier(model);
  fit({.scope = scope, .forward = forward, .optimizer = &adam}, slice,
      from_columns(points(256), 32), {.epochs = 2});
  const ColumnBatch unseen = points(50, 2);
  const Tensor logits = predict(predictor(model), slice, from_columns(unseen, 16));
  const auto labels = unseen.column("label").values<std::int64_t>();
  std::int64_t correct = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto scores = logits.values<float>().subspan(row * 3, 3);
    correct += std::ranges::max_element(scores) - scores.begin() == labels[row] ? 1 : 0;
  }
  EXPECT_EQ(correct, evaluate(forward, slice, from_columns(unseen, 16)).correct);
  EXPECT_GT(correct, 30);
}

TEST(Predict, OnAStrategyReadsItsVariables) {
  Cluster cluster = Cluster::connect("v3-8");
  cluster.initialize();
  const Strategy strategy(cluster, {.threads = 2, .even_shares_only = true});
  const auto mirrored = SmallTraining::model_in(strategy.scope({.seed = 7}), 0);
  const auto of_nobody = SmallTraining::model_in(Scope({.seed = 7}), 0);
  const auto batches = from_columns(points(21), 16);
  EXPECT_EQ(predict(predictor(mirrored), strategy, batches),
            predict(predictor(of_nobody), Slice::parse("v5litepod-1"), batches));
  EXPECT_THAT(error_message([&] { predict(predictor(of_nobody), strategy, batches); }),
              HasSubstr("was made outside the scope of the strategy"));
}

TEST(PredictErrors, AreNamedWithTheStep) {
  const Slice slice = Slice::parse("v3-8");
  const auto message_of = [&](const PredictFunction& forward, const ColumnBatch& all) {
    return error_message([&] { predict(forward, slice, from_columns(all, 16)); });
  };
  ColumnBatch spoilt = numbered_rows(32);
  Tensor values = Tensor::copy_of({32, 1}, spoilt.column("image").values<float>());
  values.writable<float>()[21] = std::numeric_limits<float>::quiet_NaN();
  spoilt = ColumnBatch({{"image", Column::dense(values)}});
  EXPECT_EQ(message_of(as_it_is, spoilt),
            "step 2, replica 2: column 'image' of row 5 of the batch holds NaN or infinity at item "
            "0; mend the data, or leave the row out with a filter");
  EXPECT_EQ(
      message_of(
          [](Tape& tape, const ColumnBatch& share) { return nn::sum(tape, as_it_is(tape, share)); },
          numbered_rows(16)),
      "step 1, replica 0: the function gave [] for 2 examples; expected a row an example, "
      "[2, ...]");
  const PredictFunction wider = [](Tape& tape, const ColumnBatch& share) {
    const bool is_second = share.column("image").values<float>()[0] >= 16;
    return tape.constant(Tensor(DType::float32, {share.rows(), is_second ? 3 : 2}));
  };
  EXPECT_EQ(message_of(wider, numbered_rows(32)),
            "step 2: the function gave rows of shape [3], and before [2]; one tensor holds rows of "
            "one shape");
  const auto model = SmallTraining::model_in(Scope({.seed = 7}), 0);
  EXPECT_THAT(message_of(predictor(model, "pixels"), points(16)),
              StartsWith("step 1, replica 0: "));
  EXPECT_EQ(message_of(predictor(model), ColumnBatch({{"image", Column::of_bytes({"a"})}})),
            "step 1, replica 0: column 'image' is bytes of bytes []; expected numbers in rows of "
            "one shape");
}

TEST(PredictErrors, OfWhatIsEmptyOrStopped) {
  const Slice slice = Slice::parse("v3-8");
  EXPECT_EQ(error_message([&] {
              predict(as_it_is, slice,
                      from_columns(numbered_rows(8), 16, {.drop_remainder = true}));
            }),
            "predict: the dataset gave no rows; fewer rows than a batch with drop_remainder give "
            "none");
  const auto batches = from_columns(numbered_rows(64), 16);
  EXPECT_EQ(error_message([&] { predict({}, slice, batches); }),
            "predict() needs a function of a share");
  EXPECT_EQ(error_message([&] { predict(as_it_is, slice, batches, {.threads = -1}); }),
            "PredictOptions::threads is -1; take 0 or more");
  std::stop_source source;
  const PredictFunction stops = [&](Tape& tape, const ColumnBatch& share) {
    source.request_stop();
    return as_it_is(tape, share);
  };
  EXPECT_EQ(error_message(
                [&] { predict(stops, slice, batches, {.iterate = {.stop = source.get_token()}}); }),
            "stopped");
}

}  // namespace
}  // namespace infeed
