#include "train/device_tricks.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include <infeed/device/device_batch.h>
#include <infeed/device/hbm_need.h>
#include <infeed/device/models.h>
#include <infeed/device/optimizers.h>
#include <infeed/device/schedule.h>

#include "train/train_pipelines.h"

namespace infeed::tools {
namespace {

constexpr std::int32_t kStepsPerExecution = 32;
constexpr std::int64_t kBatchFactor = 4;
constexpr std::int32_t kBatchesPerUpdate = 4;

/// Smaller gains aren't worth a change of the accuracy.
constexpr double kGainThatCounts = 1.05;

class TrickRows {
 public:
  explicit TrickRows(const Slice& slice) : slice_(slice) {}

  void add(std::string name, const Workload& workload, std::int64_t batch,
           const StepOptions& options) {
    if (!hbm_need(workload, slice_, batch, options).fits()) return;
    DeviceTrick row{.name = std::move(name),
                    .batch = batch,
                    .options = options,
                    .step = step_time(workload, slice_, batch, options)};
    row.examples_per_s =
        static_cast<double>(batch) * 1e12 / static_cast<double>(row.step.total_ps());
    row.gain = rows_.empty() ? 1 : row.examples_per_s / rows_.back().examples_per_s;
    rows_.push_back(std::move(row));
  }
  std::vector<DeviceTrick> take() && { return std::move(rows_); }

 private:
  const Slice& slice_;
  std::vector<DeviceTrick> rows_;
};

}  // namespace

/// Traces black images: the pixels don't change the graph.
StepGraph graph_of(std::string_view model, const Slice& slice, std::int64_t batch) {
  const std::int64_t rows =
      std::max<std::int64_t>(examples_of_replica(batch, slice.num_replicas(), 0), 1);
  Tensor images(DType::float32, {rows, std::int64_t{kPixels}});
  std::ranges::fill(images.writable<float>(), 0.0F);
  Tensor labels(DType::int32, {rows});
  std::ranges::fill(labels.writable<std::int32_t>(), 0);
  const Scope scope;
  return StepGraph::trace(classifier(nn::model_named(model, scope)),
                          ColumnBatch({{"image", Column::dense(std::move(images))},
                                       {"label", Column::dense(std::move(labels))}}));
}

std::vector<DeviceTrick> device_tricks(std::string_view model, const Slice& slice,
                                       std::int64_t batch) {
  const StepGraph graph = graph_of(model, slice, batch);
  const Workload compiled = graph.workload();
  TrickRows rows(slice);
  StepOptions options{.precision = Precision::float32, .launches_operations = true};
  rows.add("operation by operation", graph.eager_workload(), batch, options);
  options.launches_operations = false;
  rows.add("+ compiled", compiled, batch, options);
  options.steps_per_execution = kStepsPerExecution;
  rows.add(fmt::format("+ {} steps an execution", kStepsPerExecution), compiled, batch, options);
  options.precision = Precision::mixed_bfloat16;
  rows.add("+ mixed_bfloat16", compiled, batch, options);
  rows.add(fmt::format("+ batch x {}", kBatchFactor), compiled, kBatchFactor * batch, options);
  options.batches_per_update = kBatchesPerUpdate;
  rows.add(fmt::format("+ {} batches an update", kBatchesPerUpdate), compiled, kBatchFactor * batch,
           options);
  return std::move(rows).take();
}

void learn_with_tricks(std::vector<DeviceTrick>& tricks, const Slice& slice,
                       const LearnOptions& options, double before) {
  const std::int64_t batch = options.training.batch;
  for (DeviceTrick& trick : tricks) {
    const std::int64_t images_an_update = trick.batch * trick.options.batches_per_update;
    const bool learns_otherwise =
        images_an_update != batch || trick.options.precision != Precision::float32;
    if (!learns_otherwise) {
      trick.test_accuracy = before;
      continue;
    }
    if (trick.gain < kGainThatCounts || options.images < images_an_update) continue;
    LearnOptions with = options;
    const double scale = nn::scaled_rate({.base_rate = 1,
                                          .base_batch = batch,
                                          .global_batch = images_an_update,
                                          .rule = nn::batch_rule(StepOptimizer::adam)});
    with.rate = [rate = options.rate, scale](std::uint64_t updates) -> nn::Schedule {
      return
          [of_batch = rate(updates), scale](std::uint64_t step) { return scale * of_batch(step); };
    };
    with.precision = trick.options.precision;
    with.training.batch = trick.batch;
    with.batches_per_update = trick.options.batches_per_update;
    trick.test_accuracy = learn(slice, with).epochs.back().test_accuracy;
  }
}

void print_device_tricks(const std::vector<DeviceTrick>& tricks, int epochs, Terminal& terminal) {
  terminal.line(terminal.paint(
      Paint::dim, fmt::format("  {:23} {:>6} {:>8} {:>9} {:>9} {:>11} {:>6}  {}", "device", "batch",
                              "step us", "launch us", "reduce us", "images/s", "gain", "test")));
  const auto us = [](std::int64_t ps) { return static_cast<double>(ps) / 1e6; };
  for (const DeviceTrick& trick : tricks) {
    terminal.line(fmt::format(
        "  {:23} {:>6} {:>8.1f} {:>9.1f} {:>9.1f} {:>11} {:>5.2f}x {:>5}", trick.name,
        with_commas(trick.batch), us(trick.step.total_ps()), us(trick.step.launch_ps),
        us(trick.step.all_reduce_ps), with_commas(std::llround(trick.examples_per_s)), trick.gain,
        trick.test_accuracy ? fmt::format("{:.1f}%", 100 * *trick.test_accuracy) : "-"));
  }
  terminal.line(fmt::format(
      "  (test: accuracy after {}; -: not trained, as it gains less than {:g}x or has no update)",
      counted(static_cast<std::uint64_t>(epochs), "epoch"), kGainThatCounts));
}

}  // namespace infeed::tools
