#include "device/virtual_steps.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include <infeed/device/device_batch.h>
#include <infeed/error.h>
#include <infeed/records/file.h>

#include "cli/terminal.h"
#include "device/service_samples.h"
#include "profile/recorded_run.h"
#include "profile/recorded_service.h"

namespace infeed::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double kPsOfMs = 1e9;
/// Default service time as a share of a step: hosts that could deliver a quarter more than needed.
constexpr double kServiceOfStep = 0.8;
/// Enough for the tail of thousands of hosts.
constexpr std::size_t kQuantiles = 65'536;
/// The largest batch of virtual mode.
constexpr std::int64_t kBatchBytesMax = 1'000'000'000'000'000;
constexpr std::int32_t kDepths[] = {1, 2, 4, 8, 16, 32};
constexpr std::string_view kRecordingBegin = "{\"infeed_recording\"";

std::string ms_text(double ps) { return fmt::format("{:.3g} ms", ps / kPsOfMs); }

/// Bisects: it is called thousands of times, not millions.
double normal_quantile(double share) {
  double low = -40;
  double high = 40;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

struct NamedTimes {
  ServiceTimes times;
  std::string name;
};

NamedTimes service_times(const StepsOfSlice& steps, const VirtualStepsOptions& options,
                         std::int64_t examples_of_host, const std::stop_token& stop) {
  if (options.samples_file.empty()) {
    const double median_ps = options.service_us > 0
                                 ? options.service_us * 1e6
                                 : kServiceOfStep * static_cast<double>(steps.step.total_ps());
    if (options.service_spread <= 0) {
      return {ServiceTimes::constant(std::llround(median_ps)),
              fmt::format("made up: {} each", ms_text(median_ps))};
    }
    return {ServiceTimes::drawn(log_normal_ps(median_ps, options.service_spread, kQuantiles),
                                options.seed),
            fmt::format("made up: {} at the median, log-normal with sigma {:g}", ms_text(median_ps),
                        options.service_spread)};
  }
  const std::string text = read_stream(options.samples_file, stop);
  if (!text.starts_with(kRecordingBegin)) {
    std::vector<std::int64_t> ps = parse_service_samples(text, options.samples_file);
    std::string name = fmt::format("{} of {}", with_commas(ps.size()), options.samples_file);
    return {ServiceTimes::replayed(std::move(ps), options.seed), std::move(name)};
  }
  const RecordedService service = recorded_service(parse_recorded_run(text, options.samples_file));
  std::string name =
      fmt::format("{} of the recording {}", with_commas(service.ps.size()), options.samples_file);
  if (service.examples > 0) {
    name += fmt::format(", where {} examples are a batch", with_commas(service.examples));
  }
  return {ServiceTimes::replayed(for_other_batches(service.ps, service.examples, examples_of_host),
                                 options.seed),
          std::move(name)};
}

std::string percent_text(std::int64_t part_ps, const StepSummary& s) {
  const double share =
      s.step_ps == 0 ? 0 : static_cast<double>(part_ps) / static_cast<double>(s.step_ps);
  return fmt::format("{:.1f} %", 100 * share);
}

}  // namespace

std::vector<std::int64_t> log_normal_ps(double median_ps, double sigma, std::size_t count) {
  std::vector<std::int64_t> times;
  times.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    times.push_back(std::llround(median_ps * std::exp(sigma * normal_quantile(share))));
  }
  return times;
}

void add_virtual_options(CLI::App& command, VirtualStepsOptions& options) {
  auto* const steps =
      command
          .add_option("--virtual", options.steps,
                      "Simulate so many steps of all hosts: who waits for whom, and how deep must "
                      "queues be")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  auto* const median =
      command
          .add_option(
              "--service-us", options.service_us,
              "Time that a host takes for its share of a batch, at the median; by default 80 % "
              "of a step")
          ->check(CLI::Range(0.001, 1e10))
          ->type_name("US")
          ->needs(steps);
  auto* const spread =
      command
          .add_option("--service-spread", options.service_spread,
                      "Sigma of the log-normal distribution of these times; 0: all the same")
          ->check(CLI::Range(0.0, 3.0))
          ->capture_default_str()
          ->type_name("SIGMA")
          ->needs(steps);
  command
      .add_option("--service-samples", options.samples_file,
                  "Measured times instead: microseconds, a number a line (infeed pace "
                  "--service-times), or a recording of a run, scaled to the batch")
      ->type_name("FILE")
      ->needs(steps)
      ->excludes(median)
      ->excludes(spread);
  command
      .add_option("--queue-depth", options.queue_depth,
                  "Batches that each host holds ready; 0: it works when it is asked")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str()
      ->needs(steps);
  command
      .add_option("--example-bytes", options.example_bytes,
                  "Bytes of an example that go to the device")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str()
      ->needs(steps);
  command.add_option("--seed", options.seed, "Seed of the drawn times")
      ->capture_default_str()
      ->needs(steps);
}

VirtualSteps run_virtual_steps(const StepsOfSlice& steps, const VirtualStepsOptions& options,
                               const std::stop_token& stop) {
  if (options.example_bytes > kBatchBytesMax / steps.batch) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a batch of {} examples of {} bytes has more than {} bytes, the most "
                            "that is simulated; give a smaller --example-bytes or --batch",
                            with_commas(steps.batch), with_commas(options.example_bytes),
                            with_commas(kBatchBytesMax)));
  }
  VirtualSteps virtual_steps{
      .hosts = steps.slice.num_hosts(),
      .examples_of_host = examples_of_replica(steps.batch, steps.slice.num_hosts(), 0),
      .queue_depth = options.queue_depth};
  NamedTimes service = service_times(steps, options, virtual_steps.examples_of_host, stop);
  virtual_steps.service = std::move(service.name);
  VirtualOptions run{.batches = {{.examples = steps.batch,
                                  .bytes = steps.batch * options.example_bytes,
                                  .step = steps.step}},
                     .steps = options.steps,
                     // The step that compiles comes before the counted ones.
                     .warmup_steps = steps.compilation_ps > 0 ? 1 : 0,
                     .queue_depth = options.queue_depth,
                     .launch_ps = steps.launch_ps,
                     .steps_per_execution = steps.steps_per_execution,
                     .compilation_ps = steps.compilation_ps,
                     .stop = stop};
  virtual_steps.result = run_virtual(steps.slice, service.times, run);
  for (const std::int32_t depth : kDepths) {
    run.queue_depth = depth;
    const StepSummary s = run_virtual(steps.slice, service.times, run).summary;
    virtual_steps.depths.push_back({depth, s.infeed_wait_share, s.steps_per_s});
  }
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped");
  return virtual_steps;
}

void print_virtual_steps(const VirtualSteps& steps, Terminal& terminal) {
  const StepSummary& s = steps.result.summary;
  const ServiceTail& tail = steps.result.tail;
  terminal.line(terminal.paint(
      Paint::bold, fmt::format("{} virtual steps of {} {}, {} examples each, {} batches ready",
                               with_commas(s.steps), with_commas(steps.hosts),
                               steps.hosts == 1 ? "host" : "hosts",
                               with_commas(steps.examples_of_host), steps.queue_depth)));
  terminal.line("  service times " + steps.service);
  terminal.line(fmt::format("  {:.4g} steps and {} examples a second", s.steps_per_s,
                            with_commas(std::llround(s.examples_per_s))));
  terminal.line(fmt::format("  busy {}, infeed wait {}, transfer {}, idle {}",
                            percent_text(s.compute_ps + s.all_reduce_ps, s),
                            percent_text(s.infeed_wait_ps, s), percent_text(s.transfer_ps, s),
                            percent_text(s.idle_ps, s)));
  terminal.line(
      fmt::format("  a host takes {} (p50), {} (p99); the slowest of a step {} (p50), "
                  "which is the {:.2f}th percentile of one",
                  ms_text(static_cast<double>(tail.host_p50_ps)),
                  ms_text(static_cast<double>(tail.host_p99_ps)),
                  ms_text(static_cast<double>(tail.step_p50_ps)), 100 * tail.step_p50_quantile));
  if (steps.result.compilations > 0 && s.steps > 0) {
    terminal.line(fmt::format("  compiled {} times, launched {} times",
                              with_commas(steps.result.compilations),
                              with_commas(steps.result.executions)));
  }
  std::string depths = "  infeed wait by batches ready:";
  for (const VirtualSteps::AtDepth& at : steps.depths) {
    depths += fmt::format("  {}: {:.1f} %", at.queue_depth, 100 * at.infeed_wait_share);
  }
  terminal.line(depths);
  const Paint paint = s.verdict == InputVerdict::not_bound      ? Paint::good
                      : s.verdict == InputVerdict::highly_bound ? Paint::bad
                                                                : Paint::warning;
  terminal.line(terminal.paint(paint, s.sentence()));
}

OrderedJson json_of(const VirtualSteps& steps) {
  const StepSummary& s = steps.result.summary;
  OrderedJson depths = OrderedJson::array();
  for (const VirtualSteps::AtDepth& at : steps.depths) {
    depths.push_back({{"queue_depth", at.queue_depth},
                      {"infeed_wait_share", at.infeed_wait_share},
                      {"steps_per_s", at.steps_per_s}});
  }
  return {{"steps", s.steps},
          {"hosts", steps.hosts},
          {"examples_of_host", steps.examples_of_host},
          {"service_times", steps.service},
          {"queue_depth", steps.queue_depth},
          {"span_ps", s.span_ps},
          {"infeed_wait_ps", s.infeed_wait_ps},
          {"transfer_ps", s.transfer_ps},
          {"idle_ps", s.idle_ps},
          {"compute_ps", s.compute_ps},
          {"all_reduce_ps", s.all_reduce_ps},
          {"steps_per_s", s.steps_per_s},
          {"examples_per_s", s.examples_per_s},
          {"infeed_wait_share", s.infeed_wait_share},
          {"duty_cycle", s.duty_cycle},
          {"verdict", to_string(s.verdict)},
          {"compilations", steps.result.compilations},
          {"executions", steps.result.executions},
          {"host_p50_ps", steps.result.tail.host_p50_ps},
          {"host_p99_ps", steps.result.tail.host_p99_ps},
          {"slowest_host_p50_ps", steps.result.tail.step_p50_ps},
          {"slowest_host_p50_quantile", steps.result.tail.step_p50_quantile},
          {"depths", depths}};
}

}  // namespace infeed::tools
