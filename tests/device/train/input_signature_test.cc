#include "infeed/device/input_signature.h"

#include <gmock/gmock.h>

#include <infeed/device/fit.h>
#include <infeed/device/strategy.h>
#include <infeed/error.h>

#include "device/error_message.h"
#include "device/train/small_training.h"

namespace infeed {
namespace {

using testing::HasSubstr;

InputSignature points_of(std::optional<std::int64_t> rows) {
  return {{"image", DType::float32, {rows, 8}}, {"label", DType::int64, {rows}}};
}

FitResult fit_declared(const ColumnBatch& all, InputSignature inputs,
                       FromColumnsOptions rows_of = {}, std::string_view slice = "v3-8") {
  SmallTraining small;
  Training training = small.training();
  training.inputs = std::move(inputs);
  return fit(training, Slice::parse(slice), from_columns(all, 16, rows_of));
}

std::string refusal(const ColumnBatch& all, const InputSignature& inputs) {
  const std::string of_eight = error_message([&] { fit_declared(all, inputs); });
  const std::string of_one = error_message([&] { fit_declared(all, inputs, {}, "v5litepod-1"); });
  EXPECT_EQ(of_eight, of_one);  // no replica is named, whatever their number
  return of_eight;
}

/// 40 rows in batches of 16: the last one has 8, a row a replica instead of two.
TEST(InputSignature, AFixedBatchIsCompiledOnceAndRefusesAPartialOne) {
  const FitResult whole = fit_declared(points(40), points_of(16), {.drop_remainder = true});
  EXPECT_EQ(whole.steps, 2);
  EXPECT_EQ(whole.compilations.size(), 1U);
  EXPECT_EQ(refusal(points(40), points_of(16)),
            "step 3: column 'image' is float32 [8, 8]; expected float32 [16, 8]; drop partial "
            "batches with drop_remainder, or declare the rows as std::nullopt, with which each "
            "number of rows is compiled for itself");
  EXPECT_EQ(refusal(points(40), points_of(12)),
            "step 1: column 'image' is float32 [16, 8]; expected float32 [12, 8]; make batches of "
            "12 rows in the pipeline, or declare 16 rows");
}

TEST(InputSignature, AnyNumberOfRowsIsCompiledForEachShape) {
  const FitResult declared = fit_declared(points(72), points_of(std::nullopt));
  EXPECT_EQ(declared.steps, 5);
  ASSERT_EQ(declared.compilations.size(), 2U);
  EXPECT_EQ(declared.compilations[1].step, 5);
  EXPECT_EQ(declared.compilations[1].reason,
            "image float32 [1, 8], before float32 [2, 8]; label int64 [1], before int64 [2]");
  EXPECT_EQ(fit_declared(points(72), {}).compilations.size(), 2U);  // as without a declaration
}

TEST(InputSignature, WhatDoesNotFitIsNamedWithStepAndColumn) {
  EXPECT_EQ(
      refusal(points(16), {{"image", DType::uint8, {std::nullopt, 8}},
                           {"label", DType::int64, {std::nullopt}}}),
      "step 1: column 'image' is float32 [16, 8]; expected uint8 [any, 8]; mend the pipeline, "
      "or what the step declares");
  EXPECT_EQ(refusal(points(16), {{"image", DType::float32, {16, 8, std::nullopt}},
                                 {"label", DType::int64, {std::nullopt}}}),
            "step 1: column 'image' is float32 [16, 8]; expected float32 [16, 8, any]; mend the "
            "pipeline, or what the step declares");
  EXPECT_EQ(refusal(points(16), {{"image", DType::float32, {16, 9}}}),
            "step 1: column 'image' is float32 [16, 8]; expected float32 [16, 9]; mend the "
            "pipeline, or what the step declares");
  EXPECT_EQ(refusal(points(16), {{"pixels", DType::float32, {16, 8}}}),
            "step 1: there is no column 'pixels'; expected float32 [16, 8]; the batch has image, "
            "label");
  EXPECT_EQ(refusal(points(16), {{"image", DType::float32, {std::nullopt, std::nullopt}}}),
            "step 1: column 'label' isn't declared; declare it, or leave it out of the pipeline");
  const ColumnBatch named(
      {{"image", points(2).column("image")}, {"label", Column::of_bytes({"one", "two"})}});
  EXPECT_EQ(refusal(named, points_of(std::nullopt)),
            "step 1: column 'label' is bytes; expected int64 [any], dense or padded");
}

TEST(InputSignature, ADeclarationThatMakesNoSenseIsRefusedBeforeAStep) {
  EXPECT_EQ(refusal(points(16), {{"image", DType::float32, {}}}),
            "column 'image' is declared as float32 []; the first extent is the batch's rows, so "
            "there is one at least");
  EXPECT_EQ(refusal(points(16), {{"image", DType::float32, {-1, 8}}}),
            "column 'image' is declared as float32 [-1, 8]; an extent is 0 or more, or "
            "std::nullopt for any");
  EXPECT_EQ(refusal(points(16), {{"a", DType::float32, {1}}, {"a", DType::float32, {1}}}),
            "column 'a' is declared twice");
}

TEST(InputSignature, AValidationMayHaveAnyNumberOfRows) {
  SmallTraining small;
  Training training = small.training();
  training.inputs = points_of(16);
  const auto validated = [&](const ColumnBatch& validation) {
    return fit(training, Slice::parse("v3-8"), from_columns(points(32), 16),
               {.validation = from_columns(validation, 10)});
  };
  EXPECT_EQ(validated(points(33)).epochs[0].validation->examples, 33);
  const ColumnBatch other({{"image", points(8).column("image")}});
  EXPECT_EQ(error_message([&] { validated(other); }),
            "step 1: there is no column 'label'; expected int64 [any]; the batch has image");
}

TEST(InputSignature, IsDeclaredForPredictAndForStepsOfAStrategy) {
  const auto model = SmallTraining::model_in(Scope({.seed = 7}), 0);
  EXPECT_THAT(
      error_message([&] {
        predict(predictor(model), Slice::parse("v3-8"), from_columns(points(20), 16),
                {.inputs = points_of(16)});
      }),
      HasSubstr("step 2: column 'image' is float32 [4, 8]; expected float32 [16, 8]; drop"));
  Cluster cluster = Cluster::connect("v3-8");
  cluster.initialize();
  Strategy strategy(cluster);
  const auto forward = classifier(SmallTraining::model_in(strategy.scope({.seed = 7}), 0));
  const InputSignature inputs = points_of(20);
  EXPECT_EQ(strategy.run(forward, points(20), {.inputs = &inputs}).metrics.examples, 20);
  EXPECT_THAT(
      error_message([&] { strategy.run(forward, points(16), {.inputs = &inputs}); }),
      HasSubstr("step 2: column 'image' is float32 [16, 8]; expected float32 [20, 8]; drop"));
}

}  // namespace
}  // namespace infeed
