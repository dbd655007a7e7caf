#include "infeed/device/step_validation.h"

#include <array>
#include <limits>

#include "infeed/device/cost_model.h"
#include "infeed/device/slice.h"
#include "time/clock_units.h"

namespace infeed {
namespace {

constexpr double kClose = 0.15;
constexpr double kFar = 0.30;  // the largest slices, and BERT on many chips

// Computed from the throughput in the logs, which includes evaluation, counted at a third.
constexpr std::array<ValidationPoint, 15> kPublished = {{
    {1, "resnet50", "v0.6", "v3-32", 4096, 130.8, true, kClose},
    {2, "resnet50", "v0.6", "v3-128", 16384, 130.6, false, kClose},
    {3, "resnet50", "v0.6", "v3-256", 32768, 136.5, false, kClose},
    {4, "resnet50", "v0.6", "v3-512", 32768, 79.0, false, kFar},
    {5, "resnet50", "v0.6", "v3-1024", 32768, 44.0, false, kFar},
    {6, "resnet50", "v0.6", "v3-2048", 32768, 25.1, false, kFar},
    {7, "resnet50", "v0.7", "v3-32", 4096, 127.4, false, kClose},
    {8, "resnet50", "v0.7", "v3-8192", 65536, 14.2, true, kFar},
    {9, "resnet50", "v0.7", "v4-16", 2048, 73.4, true, kClose},
    {10, "resnet50", "v1.0", "v4-128", 8192, 37.0, false, kClose},
    {11, "resnet50", "v0.7", "v4-512", 8192, 14.2, false, kFar},
    {12, "resnet50", "v1.0", "v4-6912", 55296, 7.0, true, kFar},
    {13, "bert-large", "v0.7", "v3-32", 448, 460.5, false, kClose},
    {14, "bert-large", "v0.7", "v4-16", 256, 233.3, false, kClose},
    {15, "bert-large", "v0.7", "v4-512", 3072, 110.7, false, kFar},
}};

/// True if both have the same model, generation and examples a replica.
bool is_alike(const ValidationPoint& a, const ValidationPoint& b) {
  const Slice of_a = Slice::parse(a.slice);
  const Slice of_b = Slice::parse(b.slice);
  return a.model == b.model && of_a.chip().generation == of_b.chip().generation &&
         a.global_batch * of_b.num_replicas() == b.global_batch * of_a.num_replicas();
}

bool is_independent(const std::vector<ValidationPoint>& points, std::size_t number) {
  if (points[number].is_calibrated) return false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool counts = i < number || points[i].is_calibrated;
    if (counts && is_alike(points[i], points[number])) return false;
  }
  return true;
}

}  // namespace

std::vector<ValidationPoint> validate_step_times() {
  std::vector<ValidationPoint> points(kPublished.begin(), kPublished.end());
  for (ValidationPoint& point : points) {
    const StepTime time =
        step_time(workload(point.model), Slice::parse(point.slice), point.global_batch);
    point.model_ms = static_cast<double>(time.total_ps()) / detail::kPsPerMs;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].is_independent = is_independent(points, i);
  }
  return points;
}

std::vector<CyclesCase> validate_cycles() {
  const SystolicArray array{.rows = 32, .columns = 32};
  const Gemm product{.m = 256, .n = 128, .k = 256};
  const Gemm alexnet{.m = 55 * 55, .n = 96, .k = 11 * 11 * 3};
  constexpr std::string_view kProduct = "256 x 256 by 256 x 128";
  return {
      {kProduct, "weight-stationary", 11199, array.weight_stationary_cycles(product)},
      {kProduct, "output-stationary", 10175, array.output_stationary_cycles(product)},
      {kProduct, "input-stationary", 14207, array.input_stationary_cycles(product)},
      {"AlexNet's conv1", "weight-stationary", 112283, array.weight_stationary_cycles(alexnet)},
  };
}

bool batch_order_is_right() {
  const Workload model = workload("resnet50");
  double before = std::numeric_limits<double>::infinity();
  for (const std::size_t index : {0, 3, 4, 5, 7}) {
    const ValidationPoint& point = kPublished.at(index);
    const Slice slice = Slice::parse(point.slice);
    const double examples = static_cast<double>(point.global_batch) / slice.num_replicas();
    const double rate =
        examples / static_cast<double>(step_time(model, slice, point.global_batch).total_ps());
    if (rate >= before) return false;
    before = rate;
  }
  return true;
}

}  // namespace infeed
