#include <CLI/CLI.hpp>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <infeed/device/cost_model.h>
#include <infeed/device/hbm_need.h>
#include <infeed/device/optimizers.h>
#include <infeed/device/slice.h>
#include <infeed/error.h>
#include <infeed/records/output_file.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/limits.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "device/sweep_batch.h"
#include "device/validate_steps.h"
#include "device/virtual_steps.h"

namespace infeed::tools {
namespace {

constexpr double kPsOfUs = 1e6;
constexpr double kPsOfSecond = 1e12;
constexpr double kUsOfSecond = 1e6;

struct StepArguments {
  std::string slice = "v3-8";
  std::string model = "resnet50";
  std::int64_t batch = 1024;
  VirtualStepsOptions virtual_steps;
  std::string precision = "mixed_bfloat16";
  std::string optimizer = "adam";
  std::int32_t steps_per_execution = 1;
  std::int32_t devices_of_replica = 1;
  double learning_rate = 0.1;
  bool sweeps_batch = false;
  bool validates = false;
  std::string json_file;
  bool no_color = false;
};

void run_validation(const StepArguments& options) {
  if (!options.json_file.empty()) check_can_write(options.json_file);
  Terminal terminal(stdout, {.colours = !options.no_color});
  nlohmann::ordered_json json = {{"schema", "infeed.step.validation"},
                                 {"schema_version", 1},
                                 {"infeed_version", INFEED_VERSION}};
  json.update(validate_steps(terminal));
  if (!options.json_file.empty()) {
    replace_file(options.json_file, json_text(json), Durability::leave_to_system);
  }
  if (!json.at("holds").get<bool>()) {
    throw Error(ErrorCode::failed_precondition,
                "the model of a step's time misses published runs by more than its bars: see the "
                "lines above that say so");
  }
}

StepOptions step_options(const StepArguments& arguments) {
  return {.precision = precision_from(arguments.precision),
          .optimizer = step_optimizer_from(arguments.optimizer),
          .steps_per_execution = arguments.steps_per_execution,
          .devices_of_replica = arguments.devices_of_replica};
}

void run_sweep(const StepArguments& options) {
  if (!options.json_file.empty()) check_can_write(options.json_file);
  const Slice slice = Slice::parse(options.slice);
  const auto batches =
      sweep_batch(workload(options.model), slice,
                  {.step = step_options(options), .learning_rate = options.learning_rate});
  Terminal terminal(stdout, {.colours = !options.no_color});
  terminal.line(terminal.paint(
      Paint::bold, fmt::format("{} on {}, {}, {}: batches of 1, 2, 4, ... examples a replica",
                               options.model, slice.name(), options.precision, options.optimizer)));
  const StepOptimizer optimizer = step_optimizer_from(options.optimizer);
  print_sweep(batches, optimizer, terminal);
  terminal.line(fmt::format(
      "rate: {:g} at a batch of 256, {}", options.learning_rate,
      nn::batch_rule(optimizer) == nn::BatchRule::root
          ? "by the square root of the batch, as Adam's is scaled; the linear rule is SGD's"
          : "by the linear rule"));
  if (options.json_file.empty()) return;
  const nlohmann::ordered_json json = {
      {"schema", "infeed.step.sweep"},    {"schema_version", 1},
      {"infeed_version", INFEED_VERSION}, {"slice", slice.name()},
      {"model", options.model},           {"precision", options.precision},
      {"optimizer", options.optimizer},   {"batches", json_of(batches)}};
  replace_file(options.json_file, json_text(json), Durability::leave_to_system);
}

std::string hbm_text(const HbmNeed& need) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / kGibibyte; };
  std::string text =
      fmt::format("HBM {:.2f} of {:.2f} GiB a device; the largest:", gib(need.bytes()),
                  gib(need.available_bytes));
  for (std::size_t i = 0; i < need.largest.size() && i < 3; ++i) {
    text += fmt::format("{} {} {:.2f}", i == 0 ? "" : ",", need.largest[i].name,
                        gib(need.largest[i].bytes));
  }
  return text;
}

void run_step(const StepArguments& options, const std::stop_token& stop) {
  if (!options.json_file.empty()) check_can_write(options.json_file);
  const Slice slice = Slice::parse(options.slice);
  const Workload model = workload(options.model);
  const StepOptions how = step_options(options);
  const HbmNeed need = hbm_need(model, slice, options.batch, how);
  check_hbm(model, slice, options.batch, how);
  const StepTime step = step_time(model, slice, options.batch, how);
  std::optional<VirtualSteps> virtual_steps;
  if (options.virtual_steps.steps > 0) {
    // The recursion launches by itself, once an execution instead of once a step.
    StepTime of_device = step;
    of_device.compute_ps -= step.launch_ps;
    of_device.launch_ps = 0;
    virtual_steps = run_virtual_steps({.slice = slice,
                                       .batch = options.batch,
                                       .step = of_device,
                                       .launch_ps = step.launch_ps * how.steps_per_execution,
                                       .steps_per_execution = how.steps_per_execution,
                                       .compilation_ps = compilation_ps(model)},
                                      options.virtual_steps, stop);
  }
  const auto us = [](std::int64_t ps) { return static_cast<double>(ps) / kPsOfUs; };
  const double examples_per_s =
      static_cast<double>(options.batch) * kPsOfSecond / static_cast<double>(step.total_ps());
  Terminal terminal(stdout, {.colours = !options.no_color});
  terminal.line(terminal.paint(
      Paint::bold, fmt::format("{} on {}, global batch {}: {:.1f} us a step", options.model,
                               slice.name(), with_commas(options.batch), us(step.total_ps()))));
  terminal.line(fmt::format(
      "  compute {:.1f} us (of it launch {:.1f}), all-reduce {:.1f} us{}; {} examples a second at "
      "best",
      us(step.compute_ps), us(step.launch_ps), us(step.all_reduce_ps),
      step.hidden_all_reduce_ps > 0
          ? fmt::format(" and {:.1f} hidden by the backward pass", us(step.hidden_all_reduce_ps))
          : "",
      with_commas(std::llround(examples_per_s))));
  terminal.line(fmt::format("  {}, {}; a new batch shape takes {:.1f} s to compile (assumed)",
                            options.precision, options.optimizer,
                            us(compilation_ps(model)) / kUsOfSecond));
  if (how.devices_of_replica > 1) {
    terminal.line(fmt::format("  {} replicas of {} devices, whose layers are split over them",
                              slice.num_replicas(how.devices_of_replica), how.devices_of_replica));
  }
  const double utilisation = model_flop_utilisation(model, slice, examples_per_s);
  terminal.line(fmt::format("  model FLOP utilisation {:.1f} % of {:g} TFLOP/s a chip",
                            100 * utilisation, slice.chip().bf16_tflops));
  terminal.line("  " + hbm_text(need));
  terminal.line(fmt::format("  links of {:g} GB/s one way ({})", slice.chip().ici_gb_per_s_link,
                            to_string(slice.chip().ici_figure)));
  const std::string_view source = calibration(slice.chip().generation).source;
  terminal.line(source.empty() ? fmt::format("  not calibrated: there is no published run for {}",
                                             to_string(slice.chip().generation))
                               : fmt::format("  calibrated on {}", source));
  if (virtual_steps) print_virtual_steps(*virtual_steps, terminal);
  if (options.json_file.empty()) return;
  const nlohmann::ordered_json json = {
      {"schema", "infeed.step"},
      {"schema_version", 1},
      {"infeed_version", INFEED_VERSION},
      {"slice", slice.name()},
      {"model", options.model},
      {"batch", options.batch},
      {"precision", options.precision},
      {"optimizer", options.optimizer},
      {"steps_per_execution", options.steps_per_execution},
      {"devices_of_replica", options.devices_of_replica},
      {"model_flop_utilisation", utilisation},
      {"compute_us", us(step.compute_ps)},
      {"launch_us", us(step.launch_ps)},
      {"all_reduce_us", us(step.all_reduce_ps)},
      {"hidden_all_reduce_us", us(step.hidden_all_reduce_ps)},
      {"compilation_us", us(compilation_ps(model))},
      {"hbm_bytes", need.bytes()},
      {"hbm_available_bytes", need.available_bytes},
      {"ici_gb_per_s_link", slice.chip().ici_gb_per_s_link},
      {"ici_figure", to_string(slice.chip().ici_figure)},
      {"calibration", calibration(slice.chip().generation).source},
      {"step_us", us(step.total_ps())},
      {"examples_per_s", examples_per_s},
      {"virtual", virtual_steps ? json_of(*virtual_steps) : nlohmann::ordered_json(nullptr)}};
  replace_file(options.json_file, json_text(json), Durability::leave_to_system);
}

}  // namespace

Command add_step_command(CLI::App& app) {
  const auto options = std::make_shared<StepArguments>();
  CLI::App* const command = app.add_subcommand(
      "step", "Say how long a model's step takes on a slice, and who waits for whom");
  command->add_option("--slice", options->slice, "The TPU to simulate, by Google Cloud's name")
      ->check(parsed_by(Slice::parse))
      ->capture_default_str()
      ->type_name("NAME");
  command
      ->add_option("--model", options->model,
                   fmt::format("One of {}", fmt::join(workload_names(), ", ")))
      ->check(parsed_by(workload))
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--batch", options->batch, "The global batch, over all replicas")
      ->check(CLI::Range(std::int64_t{1}, limits::global_batch))
      ->capture_default_str();
  auto* const precision =
      command->add_option("--precision", options->precision, "float32 or mixed_bfloat16")
          ->check(parsed_by(precision_from))
          ->capture_default_str()
          ->type_name("NAME");
  auto* const optimizer =
      command->add_option("--optimizer", options->optimizer, "sgd, momentum, adam, lars or adamw")
          ->check(parsed_by(step_optimizer_from))
          ->capture_default_str()
          ->type_name("NAME");
  auto* const steps_per_execution =
      command
          ->add_option("--steps-per-execution", options->steps_per_execution,
                       "Steps that the host launches at once")
          ->check(CLI::Range(1, 1'000'000))
          ->capture_default_str();
  auto* const devices_of_replica =
      command
          ->add_option("--devices-of-replica", options->devices_of_replica,
                       "Devices that a replica's layers are split over (model parallelism)")
          ->check(CLI::Range(1, 1024))
          ->capture_default_str();
  auto* const sweep =
      command
          ->add_flag("--sweep-batch", options->sweeps_batch,
                     "A table and a curve of batch size against step time, examples a second, HBM "
                     "and learning rate instead")
          ->excludes("--batch");
  command
      ->add_option(
          "--learning-rate", options->learning_rate,
          "Rate of a batch of 256; the sweep scales it with the batch, for Adam with its root")
      ->check(is_positive_number())
      ->capture_default_str()
      ->needs(sweep);
  auto* const validate =
      command
          ->add_flag("--validate", options->validates,
                     "Compare with 15 published runs instead; exit status 1 when one is missed by "
                     "more than its bar")
          ->excludes("--slice", "--model", "--batch")
          ->excludes(precision)
          ->excludes(optimizer)
          ->excludes(steps_per_execution)
          ->excludes(devices_of_replica)
          ->excludes(sweep);
  add_virtual_options(*command, options->virtual_steps);
  sweep->excludes("--virtual");
  validate->excludes("--virtual");
  command->add_option("--json", options->json_file, "Write all figures to FILE")->type_name("FILE");
  command->add_flag("--no-color", options->no_color, "Print no colours");
  command->footer(
      "Example: infeed step --slice v3-2048 --model resnet50 --batch 32768 --virtual 1000\n");
  return {.options = command, .run = [options](std::stop_token stop) {
            if (options->validates) return run_validation(*options);
            if (options->sweeps_batch) return run_sweep(*options);
            run_step(*options, stop);
          }};
}

}  // namespace infeed::tools
