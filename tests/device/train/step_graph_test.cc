#include "infeed/device/step_graph.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <infeed/device/depthwise.h>
#include <infeed/device/models.h>

#include "device/error_message.h"
#include "device/train/small_training.h"

namespace infeed {
namespace {

using testing::ElementsAre;

ColumnBatch images(std::int64_t rows) {
  Tensor labels(DType::int64, {rows});
  std::ranges::fill(labels.writable<std::int64_t>(), 0);
  Tensor pixels(DType::float32, {rows, 784});
  std::ranges::fill(pixels.writable<float>(), 0.5F);
  return ColumnBatch({{"image", Column::dense(pixels)}, {"label", Column::dense(labels)}});
}

StepGraph graph_of(std::string_view model, std::int64_t rows) {
  Scope scope({.seed = 1});
  return StepGraph::trace(classifier(nn::model_named(model, scope)), images(rows));
}

std::vector<std::string> names_of(std::span<const GraphOperation> operations) {
  std::vector<std::string> names;
  for (const GraphOperation& operation : operations) names.push_back(operation.name);
  return names;
}

std::vector<std::int32_t> kernels_of(std::span<const GraphOperation> operations) {
  std::vector<std::int32_t> kernels;
  for (const GraphOperation& operation : operations) kernels.push_back(operation.kernel);
  return kernels;
}

/// Counts the operations that the loss doesn't need.
std::int64_t dead_operations(const StepGraph& graph) {
  return std::ranges::count(graph.operations(), -1, &GraphOperation::kernel);
}

TEST(StepGraph, FusesWhatIsElementwise) {
  const StepGraph graph = graph_of("mlp", 16);
  EXPECT_EQ(graph.signature(), "image float32 [16, 784], label int64 [16]");
  EXPECT_THAT(names_of(graph.operations()),
              ElementsAre("reshape", "dense", "relu", "dense", "softmax_cross_entropy"));
  EXPECT_THAT(kernels_of(graph.operations()), ElementsAre(0, 1, 1, 2, 3));
  EXPECT_EQ(graph.kernels(), 4);
  EXPECT_EQ(dead_operations(graph), 0);
}

TEST(StepGraph, LeavesOutWhatTheLossDoesNotNeed) {
  Scope scope({.seed = 1});
  const nn::Dense used(scope.below("used"), 8, 3);
  const nn::Dense unused(scope.below("unused"), 8, 3);
  const auto forward = [&](Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    const TapeValue x = tape.constant(share.column("image").values());
    nn::tanh(tape, unused.apply(tape, x));
    const TapeValue y = used.apply(tape, x);
    return {.losses =
                nn::mean_squared_error(tape, y, tape.constant(Tensor(DType::float32, {4, 3})))};
  };
  const StepGraph graph = StepGraph::trace(forward, points(4));
  EXPECT_THAT(kernels_of(graph.operations()), ElementsAre(-1, -1, 0, 1));
  EXPECT_EQ(dead_operations(graph), 2);
  EXPECT_EQ(graph.workload().parameters(), 8 * 3 + 3);
  EXPECT_EQ(graph.eager_workload().parameters(), 2 * (8 * 3 + 3));
}

TEST(StepGraph, AValueThatIsReadTwiceEndsItsKernel) {
  Scope scope({.seed = 1});
  const nn::Dense dense(scope.below("a"), 8, 8);
  const auto forward = [&](Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    const TapeValue x = tape.constant(share.column("image").values());
    const TapeValue y = dense.apply(tape, x);                 // read by tanh and by add
    const TapeValue z = nn::add(tape, nn::tanh(tape, y), y);  // tanh and add are one kernel
    return {.losses = nn::mean_squared_error(tape, z, x)};
  };
  const StepGraph graph = StepGraph::trace(forward, points(4));
  EXPECT_THAT(names_of(graph.operations()),
              ElementsAre("dense", "tanh", "add", "mean_squared_error"));
  EXPECT_THAT(kernels_of(graph.operations()), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(graph.operations()[2].inputs, ElementsAre(1, 0));
}

TEST(StepGraph, CostsWhatTheNamedModelCosts) {
  const Workload traced = graph_of("mlp", 16).workload();
  const Workload named = workload("classifier");
  EXPECT_EQ(traced.macs(), named.macs());
  EXPECT_EQ(traced.parameters(), named.parameters());
  ASSERT_EQ(traced.ops.size(), 3U);  // and the loss
  for (std::size_t i = 0; i < named.ops.size(); ++i) {
    EXPECT_EQ(traced.ops[i].rows, named.ops[i].rows);
    EXPECT_EQ(traced.ops[i].k, named.ops[i].k);
    EXPECT_EQ(traced.ops[i].n, named.ops[i].n);
    EXPECT_EQ(traced.ops[i].input_elements, named.ops[i].input_elements);
    EXPECT_EQ(traced.ops[i].activation_passes, named.ops[i].activation_passes);
    EXPECT_EQ(traced.ops[i].needs_input_gradient, named.ops[i].needs_input_gradient);
  }
}

TEST(StepGraph, CostsADepthwiseConvolutionByItsWindowAlone) {
  Scope scope({.seed = 1});
  const nn::DepthwiseConvolution first(scope.below("first"), 1, {.multiplier = 4, .bias = false});
  const nn::SeparableConvolution second(scope.below("second"), 4, 8,
                                        {.stride = 2, .activation = nn::Activation::relu});
  const auto forward = [&](Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    const TapeValue x =
        nn::reshape(tape, tape.constant(share.column("image").values()), {3, 28, 28, 1});
    const TapeValue y = nn::average_of_rows(tape, second.apply(tape, first.apply(tape, x)));
    return {.losses =
                nn::mean_squared_error(tape, y, tape.constant(Tensor(DType::float32, {3, 8})))};
  };
  const StepGraph graph = StepGraph::trace(forward, images(3));
  EXPECT_THAT(names_of(graph.operations()),
              ElementsAre("reshape", "depthwise_convolution", "depthwise_convolution",
                          "convolution", "relu", "average_of_rows", "mean_squared_error"));
  EXPECT_THAT(kernels_of(graph.operations()), ElementsAre(0, 1, 2, 3, 3, 4, 5));
  const Workload workload = graph.workload();
  ASSERT_EQ(workload.ops.size(), 5U);  // the reshape moves nothing
  const ModelOp& of_images = workload.ops[0];
  EXPECT_EQ(of_images.kind, OpKind::depthwise);
  EXPECT_EQ(of_images.rows, 28 * 28);
  EXPECT_EQ(of_images.k, 9);
  EXPECT_EQ(of_images.n, 4);
  EXPECT_EQ(of_images.input_elements, 28 * 28);
  EXPECT_EQ(of_images.output_elements(), 28 * 28 * 4);
  EXPECT_EQ(of_images.parameters, 9 * 4);
  EXPECT_FALSE(of_images.needs_input_gradient);
  EXPECT_TRUE(workload.ops[1].needs_input_gradient);
  EXPECT_EQ(workload.ops[1].rows, 14 * 14);
  EXPECT_EQ(workload.ops[2].kind, OpKind::product);
  EXPECT_EQ(workload.macs(), 28 * 28 * 4 * 9 + 14 * 14 * 4 * 9 + 14 * 14 * 4 * 8);
  EXPECT_EQ(workload.parameters(), 9 * 4 + 9 * 4 + 4 * 8 + 8);
}

TEST(StepGraph, KnowsTheParametersOfEachModel) {
  for (const std::string_view name : nn::model_names()) {
    Scope scope({.seed = 1});
    const auto model = nn::model_named(name, scope);
    std::int64_t parameters = 0;
    for (const Variable& variable : scope.variables()) {
      if (variable.trainable()) parameters += variable.shape().items();
    }
    const StepGraph graph = StepGraph::trace(classifier(model), images(8));
    EXPECT_EQ(graph.workload().parameters(), parameters) << name;
    EXPECT_LT(graph.kernels(), static_cast<std::int32_t>(graph.operations().size())) << name;
    EXPECT_LT(graph.memory().planned_bytes, graph.memory().eager_bytes) << name;
  }
}

TEST(StepGraph, PlansMemoryOfAChain) {
  // Outputs of 4, 2 and 1 values stay until their backward pass, and a gradient takes no living
  // place.
  Scope scope({.seed = 1});
  const nn::Dense a(scope.below("a"), 8, 4);
  const nn::Dense b(scope.below("b"), 4, 2);
  const auto forward = [&](Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    const TapeValue x = tape.constant(share.column("image").values());
    const TapeValue y = b.apply(tape, a.apply(tape, x));
    return {.losses =
                nn::mean_squared_error(tape, y, tape.constant(Tensor(DType::float32, {1, 2})))};
  };
  const StepGraph graph = StepGraph::trace(forward, points(1));
  EXPECT_EQ(graph.memory().eager_bytes, 2 * (4 + 2 + 1) * 4);
  // At the loss's backward pass live: all three outputs, the loss's gradient and that of b; a's
  // comes when those of the loss are gone.
  EXPECT_EQ(graph.memory().planned_bytes, (4 + 2 + 4 + 2) * 4);
}

TEST(StepGraph, RunningOperationByOperationTakesLonger) {
  const StepGraph graph = graph_of("convnet", 128);
  const Slice slice = Slice::parse("v3-8");
  const StepTime compiled = step_time(graph.workload(), slice, 1024);
  const StepTime eager =
      step_time(graph.eager_workload(), slice, 1024, {.launches_operations = true});
  EXPECT_GT(eager.launch_ps, compiled.launch_ps);
  EXPECT_GT(eager.compute_ps - eager.launch_ps, compiled.compute_ps - compiled.launch_ps);
}

TEST(StepGraph, NeedsRows) {
  EXPECT_EQ(error_message([] { graph_of("mlp", 0); }),
            "a step can't be traced on a share without rows; give it one as large as in training");
}

TEST(Fit, AStepThatTheDevicesMemoryCannotHoldIsNamed) {
  SmallTraining training;
  const std::string said = error_message([&] {
    fit(training.training(), Slice::parse("v3-8"), from_columns(points(32), 32),
        {.workload = workload("gpt2-1.5b")});
  });
  EXPECT_THAT(said, testing::HasSubstr("gpt2-1.5b with a global batch of 32 needs "));
  EXPECT_THAT(said, testing::HasSubstr(" of HBM a device, and v3-8 has 16.00 GiB: "));
}

TEST(Fit, CompilesOnceAShapeOfBatchAndChargesIt) {
  SmallTraining training;
  const FitResult result =
      fit(training.training(), Slice::parse("v3-8"), from_columns(points(100), 32), {.epochs = 2});
  ASSERT_EQ(result.steps, 8);
  ASSERT_EQ(result.compilations.size(), 2U);  // 32 rows a batch, and 4 at the end of each epoch
  const Compilation& first = result.compilations[0];
  EXPECT_EQ(first.step, 1);
  EXPECT_EQ(first.signature, "image float32 [4, 8], label int64 [4]");
  EXPECT_EQ(first.reason, "");
  EXPECT_EQ(first.operations, 4);
  EXPECT_EQ(first.kernels, 3);
  const Compilation& second = result.compilations[1];
  EXPECT_EQ(second.step, 4);
  EXPECT_EQ(second.reason,
            "image float32 [1, 8], before float32 [4, 8]; label int64 [1], before int64 [4]");
  EXPECT_EQ(result.simulated.idle_ps, first.compilation_ps + second.compilation_ps);
}

}  // namespace
}  // namespace infeed
