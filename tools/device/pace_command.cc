#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/device/paced.h>
#include <infeed/device/slice.h>
#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/output_file.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/limits.h"
#include "cli/option_checks.h"
#include "cli/stop_on_signal.h"
#include "cli/terminal.h"
#include "device/service_samples.h"
#include "profile/described_pipeline.h"

namespace infeed::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double kPsPerSecond = 1e12;
/// Bytes of an example in a made-up batch: 28x28 images of a byte a pixel.
constexpr std::int64_t kMadeUpBytes = 784;

struct PaceOptions {
  std::string slice = "v3-8";
  double step_us = 1200;
  double seconds = 10;
  std::int32_t queue_depth = 2;
  bool on_demand = false;
  std::int64_t batch = 1024;
  double source_us = 0;
  std::string pipeline_file;
  std::string json_file;
  std::string service_file;
  bool no_color = false;
  CLI::Option* step_option = nullptr;
};

/// Makes empty batches, each after so many microseconds off the CPU.
BatchSource made_up_source(std::int64_t examples, double source_us) {
  const auto takes = std::chrono::nanoseconds(std::llround(source_us * 1000));
  std::stop_source end;
  return {.next =
              [examples, takes, stop = end.get_token()](DeviceBatch& out) {
                if (!sleep_until(std::chrono::steady_clock::now() + takes, stop)) return false;
                out = {.examples = examples, .bytes = examples * kMadeUpBytes};
                return true;
              },
          .cancel = [end]() mutable { end.request_stop(); }};
}

/// Refuses what would sleep for longer than the run is to take.
void require_shorter(double us, double seconds, std::string_view what) {
  if (us <= seconds * 1e6) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} of {:g} us takes longer than the whole run of {:g} s; give it more "
                          "time with --seconds",
                          what, us, seconds));
}

BatchSource pipeline_source(const DescribedPipeline& pipeline, const std::stop_token& stop) {
  const auto iterator =
      std::make_shared<Iterator<ColumnBatch>>(pipeline.dataset().iterate({.stop = stop}));
  return {.next = [iterator](DeviceBatch& out) {
    const std::optional<ColumnBatch> batch = iterator->next();
    if (!batch) return false;
    out = {.examples = batch->rows(), .bytes = static_cast<std::int64_t>(batch->bytes())};
    return true;
  }};
}

/// The measurements, for printing and for JSON.
struct PaceReport {
  const Slice& slice;
  const PaceOptions& options;
  const PacedResult& result;

  double accounted_s() const { return static_cast<double>(result.summary.span_ps) / kPsPerSecond; }
  double wall_s() const { return static_cast<double>(result.wall_ns) / 1e9; }
  /// Returns the difference of the two times, in percent of the wall's.
  double apart_percent() const {
    return wall_s() > 0 ? 100 * std::abs(accounted_s() - wall_s()) / wall_s() : 0;
  }
  double percent(std::int64_t part_ps) const {
    const std::int64_t all_ps = result.summary.step_ps;
    return all_ps == 0 ? 0 : 100 * static_cast<double>(part_ps) / static_cast<double>(all_ps);
  }
};

std::string us_text(std::int64_t ns) {
  return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
}

/// Prints the head before the run, which takes a while.
void print_head(const Slice& slice, const PaceOptions& options, Terminal& terminal) {
  terminal.line(terminal.paint(
      Paint::bold,
      fmt::format("{}, steps of {:g} us, {}", slice.name(), options.step_us,
                  options.pipeline_file.empty() ? "batches that are made up"
                                                : "batches of " + options.pipeline_file)));
  std::fflush(stdout);
}

void print(const PaceReport& report, Terminal& terminal) {
  const PacedResult& result = report.result;
  const StepSummary& s = result.summary;
  if (!result.share.empty()) terminal.line("  " + result.share);
  if (result.end == RunEnd::end_of_data) {
    terminal.line(fmt::format("  the data ended after {} steps", with_commas(s.steps)));
  }
  terminal.line(fmt::format("  {} steps, {:.1f} a second, {} examples a second",
                            with_commas(s.steps), s.steps_per_s,
                            with_commas(std::llround(s.examples_per_s))));
  terminal.line(
      fmt::format("  busy {:.1f} %, infeed wait {:.1f} %, transfer {:.1f} %, idle {:.1f} %",
                  report.percent(s.compute_ps + s.all_reduce_ps), report.percent(s.infeed_wait_ps),
                  report.percent(s.transfer_ps), report.percent(s.idle_ps)));
  terminal.line(fmt::format("  overshoot: p50 {}, p99 {}, max {}", us_text(result.lateness.p50_ns),
                            us_text(result.lateness.p99_ns), us_text(result.lateness.max_ns)));
  terminal.line(fmt::format("  accounted {:.4f} s, wall {:.4f} s: {:.3f} % apart",
                            report.accounted_s(), report.wall_s(), report.apart_percent()));
  terminal.line(fmt::format("  pacing took {:.1f} us of CPU a step",
                            s.steps == 0 ? 0.0
                                         : static_cast<double>(result.pacing_cpu_ns) / 1e3 /
                                               static_cast<double>(s.steps)));
  const Paint paint = s.verdict == InputVerdict::not_bound      ? Paint::good
                      : s.verdict == InputVerdict::highly_bound ? Paint::bad
                                                                : Paint::warning;
  terminal.line(terminal.paint(paint, s.sentence()));
}

OrderedJson json_of(const PaceReport& report) {
  const PacedResult& result = report.result;
  const StepSummary& s = result.summary;
  return {{"schema", "infeed.pace"},
          {"schema_version", 1},
          {"infeed_version", INFEED_VERSION},
          {"slice", report.slice.name()},
          {"hosts", result.hosts},
          {"replicas", result.replicas},
          {"step_us", report.options.step_us},
          {"queue_depth", report.options.on_demand ? 0 : report.options.queue_depth},
          {"ended", result.end == RunEnd::end_of_data ? "end of data"
                    : result.end == RunEnd::cancelled ? "stopped"
                                                      : "duration"},
          {"steps", s.steps},
          {"examples", s.examples},
          {"steps_per_s", s.steps_per_s},
          {"examples_per_s", s.examples_per_s},
          {"accounted_ps", s.step_ps},
          {"infeed_wait_ps", s.infeed_wait_ps},
          {"transfer_ps", s.transfer_ps},
          {"idle_ps", s.idle_ps},
          {"compute_ps", s.compute_ps},
          {"all_reduce_ps", s.all_reduce_ps},
          {"wall_ns", result.wall_ns},
          {"accounted_and_wall_apart_percent", report.apart_percent()},
          {"overshoot_p50_ns", result.lateness.p50_ns},
          {"overshoot_p99_ns", result.lateness.p99_ns},
          {"overshoot_max_ns", result.lateness.max_ns},
          {"pacing_cpu_ns", result.pacing_cpu_ns},
          {"duty_cycle", s.duty_cycle},
          {"infeed_wait_share", s.infeed_wait_share},
          {"verdict", s.steps == 0 ? OrderedJson(nullptr) : OrderedJson(to_string(s.verdict))}};
}

void run_pace(PaceOptions options, const std::stop_token& stop) {
  for (const std::string* const file : {&options.json_file, &options.service_file}) {
    if (!file->empty()) check_can_write(*file);
  }
  const Slice slice = Slice::parse(options.slice);
  std::vector<std::int64_t> service_ns;
  BatchSource source;
  if (options.pipeline_file.empty()) {
    source = made_up_source(options.batch, options.source_us);
  } else {
    const DescribedPipeline pipeline =
        DescribedPipeline::parse(read_stream(options.pipeline_file, stop), options.pipeline_file);
    if (options.step_option->count() == 0 && pipeline.step_us > 0) {
      options.step_us = static_cast<double>(pipeline.step_us);
    }
    source = pipeline_source(pipeline, stop);
  }
  require_shorter(options.step_us, options.seconds, "a step");
  require_shorter(options.source_us, options.seconds, "a batch");
  PacedOptions paced{.step = {.compute_ps = std::llround(options.step_us * 1e6)},
                     .feed = options.on_demand ? InfeedFeed::on_demand : InfeedFeed::ahead,
                     .queue_depth = options.queue_depth,
                     .duration = std::chrono::nanoseconds(std::llround(options.seconds * 1e9)),
                     .stop = stop};
  if (!options.service_file.empty()) {
    paced.on_service = [&service_ns](std::int64_t ns) { service_ns.push_back(ns); };
  }
  Terminal terminal(stdout, {.colours = !options.no_color});
  print_head(slice, options, terminal);
  const PacedResult result = run_paced(slice, std::move(source), paced);
  const PaceReport report{slice, options, result};
  print(report, terminal);
  if (!options.json_file.empty()) {
    replace_file(options.json_file, json_text(json_of(report)), Durability::leave_to_system);
  }
  if (!options.service_file.empty()) {
    replace_file(options.service_file, service_samples_text(service_ns),
                 Durability::leave_to_system);
  }
  if (result.end == RunEnd::cancelled) {
    throw Error(ErrorCode::cancelled,
                fmt::format("stopped after {} steps", with_commas(result.summary.steps)));
  }
}

}  // namespace

Command add_pace_command(CLI::App& app) {
  const auto options = std::make_shared<PaceOptions>();
  CLI::App* const command = app.add_subcommand(
      "pace", "Hold a simulated device's deadlines, and say how well, and who waits for whom");
  options->step_option =
      command
          ->add_option("--step-us", options->step_us,
                       "How long the device takes for a step; no longer than the run")
          ->check(CLI::Range(1.0, 1e9))
          ->capture_default_str()
          ->type_name("US");
  command->add_option("--seconds", options->seconds, "How long it runs")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str()
      ->type_name("S");
  command
      ->add_option("--slice", options->slice,
                   "The TPU to simulate, by Google Cloud's name; of several hosts one is paced")
      ->check(parsed_by(Slice::parse))
      ->capture_default_str()
      ->type_name("NAME");
  auto* const queue_depth =
      command
          ->add_option("--queue-depth", options->queue_depth, "Batches that the host holds ready")
          ->check(CLI::Range(1, 10'000))
          ->capture_default_str();
  command
      ->add_flag("--on-demand", options->on_demand,
                 "Fetch each batch when the step before has ended, as a loop without overlap")
      ->excludes(queue_depth);
  auto* const pipeline =
      command
          ->add_option("--pipeline", options->pipeline_file,
                       "Take the batches from a pipeline in JSON, as infeed profile does, instead "
                       "of making them up; its step_us holds unless --step-us is given")
          ->type_name("FILE");
  command->add_option("--batch", options->batch, "Examples of a batch that is made up")
      ->check(CLI::Range(std::int64_t{1}, limits::global_batch))
      ->capture_default_str()
      ->excludes(pipeline);
  command
      ->add_option("--source-us", options->source_us,
                   "Time that the host takes for a batch that is made up; no longer than the run")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->type_name("US")
      ->excludes(pipeline);
  command->add_option("--json", options->json_file, "Write all figures to FILE")->type_name("FILE");
  command
      ->add_option("--service-times", options->service_file,
                   "Write what the host took for each batch to FILE, in microseconds, for infeed "
                   "step --virtual")
      ->type_name("FILE");
  command->add_flag("--no-color", options->no_color, "Print no colours");
  command->footer(
      "Examples: infeed pace --step-us 1200 --seconds 10\n"
      "          infeed pace --pipeline pipeline.json --slice v3-8 --service-times times.txt\n"
      "No arithmetic runs: a step only passes, and the pipeline has the machine to itself.\n");
  return {.options = command, .run = [options](std::stop_token stop) { run_pace(*options, stop); }};
}

}  // namespace infeed::tools
