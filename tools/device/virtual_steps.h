#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/device/service_times.h>
#include <infeed/device/virtual_run.h>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// Why: a step's time says what a slice asks of its hosts; whether they give it hangs on how much
/// their times vary and how far they run ahead. `infeed step --virtual N` replays such times.
namespace infeed::tools {

class Terminal;

struct VirtualStepsOptions {
  std::int64_t steps = 0;         ///< 0: not asked for
  double service_us = 0;          ///< at the median; 0: 80 % of a step
  double service_spread = 0.25;   ///< sigma of the log-normal distribution; 0: all the same
  std::string samples_file = {};  ///< instead of these: measured ones, or a recording
  std::int32_t queue_depth = 2;
  std::int64_t example_bytes = 0;
  std::uint64_t seed = 1;
};

/// --virtual, --service-us, --service-spread, --service-samples, --queue-depth, --example-bytes,
/// --seed.
void add_virtual_options(CLI::App& command, VirtualStepsOptions& options);

/// A slice and what a step on it takes.
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
  /// What queues of other depths would make of it.
  struct AtDepth {
    std::int32_t queue_depth = 0;
    double infeed_wait_share = 0;
    double steps_per_s = 0;
  };
  std::vector<AtDepth> depths = {};
};

/// Throws Error: a file of samples that isn't one; cancelled.
VirtualSteps run_virtual_steps(const StepsOfSlice& steps, const VirtualStepsOptions& options,
                               const std::stop_token& stop);

void print_virtual_steps(const VirtualSteps& steps, Terminal& terminal);
nlohmann::ordered_json json_of(const VirtualSteps& steps);

/// `count` times of a log-normal distribution, the quantiles in the middle of as many equal parts.
std::vector<std::int64_t> log_normal_ps(double median_ps, double sigma, std::size_t count);

}  // namespace infeed::tools
