#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

/// Why: a model of a step's time is worth as much as the runs that it predicts without having been
/// fitted to them. These are fifteen published ones, MLPerf training v0.6 to v1.0.
///
///     for (const infeed::ValidationPoint& point : infeed::validate_step_times()) {
///       fmt::print("{} {:+.1f} %\n", point.slice, 100 * point.error());
///     }
///
/// Thread-safety: pure functions.
namespace infeed {

struct ValidationPoint {
  std::int32_t number = 0;  ///< 1 to 15
  std::string_view model = {};
  std::string_view run = {};  ///< "v0.6": the round of MLPerf training
  std::string_view slice = {};
  std::int64_t global_batch = 0;
  double published_ms = 0;     ///< a step, from the logged throughput
  bool is_calibrated = false;  ///< the model was fitted to this point; other points are held out
  double error_max = 0;        ///< the limit of error(): a share of published_ms
  double model_ms = 0;
  /// True for a held-out point if no earlier and no calibrated point has the same model, generation
  /// and examples a replica. Only such a point proves something new.
  bool is_independent = false;

  double error() const { return model_ms / published_ms - 1; }
  bool holds() const { return std::abs(error()) <= error_max; }
};

/// Returns all fifteen points, with the model's times.
std::vector<ValidationPoint> validate_step_times();

/// True if the model trains fewer images a second the smaller a core's batch, as the published runs
/// do: ResNet-50 on v3 at 128, 64, 32, 16 and 8 examples a core, each on the slice of its log.
bool batch_order_is_right();

/// A product whose cycles SCALE-Sim v2 has reported.
struct CyclesCase {
  std::string_view product = {};   ///< "256 x 256 by 256 x 128"
  std::string_view dataflow = {};  ///< "weight-stationary"
  std::int64_t reported = 0;
  std::int64_t computed = 0;

  bool holds() const { return computed == reported; }
};

/// Cases on an array of 32 x 32, each of which must be exact.
std::vector<CyclesCase> validate_cycles();

}  // namespace infeed
