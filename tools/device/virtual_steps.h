#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/device/virtual_run.h>

namespace CLI {
class App;
}  // namespace CLI

/// Why: a step's time tells how fast the hosts of a slice must deliver. Whether they do depends on
/// how much their times vary and how far they run ahead. `infeed step --virtual N` replays such
/// times.
namespace infeed::tools {

class Terminal;

struct VirtualStepsOptions {
  std::int64_t steps = 0;         ///< 0: no virtual run
  double service_us = 0;          ///< at the median; 0: 80 % of a step
  double service_spread = 0.25;   ///< sigma of the log-normal distribution; 0: all times equal
  std::string samples_file = {};  ///< measured times, or a recording, instead of drawn ones
  std::int32_t queue_depth = 2;
  std::int64_t example_bytes = 0;
  std::uint64_t seed = 1;
};

/// --virtual, --service-us, --service-spread, --service-samples, --queue-depth, --example-bytes,
/// --seed.
void add_virtual_options(CLI::App& command, VirtualStepsOptions& options);

/// A slice and the costs of a step on it.
struct StepsOfSlice {
  const Slice& slice;
  std::int64_t batch = 0;  ///< global
  StepTime step = {};
  std::int64_t launch_ps = 0;
  std::int32_t steps_per_execution = 1;
  std::int64_t compilation_ps = 0;
};

struct VirtualSteps {
  /// "made up: 20.1 ms at the median, log-normal with sigma 0.25".
  std::string service = {};
  std::int32_t hosts = 1;
  std::int64_t examples_of_host = 0;
  std::int32_t queue_depth = 2;
  VirtualResult result = {};
  /// Results with queues of other depths.
  struct AtDepth {
    std::int32_t queue_depth = 0;
    double infeed_wait_share = 0;
    double steps_per_s = 0;
  };
  std::vector<AtDepth> depths = {};
};

/// Throws Error for a file without valid samples; cancelled.
VirtualSteps run_virtual_steps(const StepsOfSlice& steps, const VirtualStepsOptions& options,
                               const std::stop_token& stop);

void print_virtual_steps(const VirtualSteps& steps, Terminal& terminal);
nlohmann::ordered_json json_of(const VirtualSteps& steps);

/// Returns `count` times of a log-normal distribution: the quantiles in the middle of equal parts.
std::vector<std::int64_t> log_normal_ps(double median_ps, double sigma, std::size_t count);

}  // namespace infeed::tools
