#include "device/step_command.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>
#include <infeed/error.h>
#include <infeed/records/output_file.h>

#include "cli/json_text.h"
#include "cli/terminal.h"
#include "device/validate_steps.h"
#include "device/virtual_steps.h"

namespace infeed::tools {
namespace {

constexpr double kPsOfUs = 1e6;
constexpr double kPsOfSecond = 1e12;

struct StepOptions {
  std::string slice = "v3-8";
  std::string model = "resnet50";
  std::int64_t batch = 1024;
  VirtualStepsOptions virtual_steps;
  bool validates = false;
  std::string json_file;
  bool no_color = false;
};

void run_validation(const StepOptions& options) {
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

void run_step(const StepOptions& options, const std::stop_token& stop) {
  if (!options.json_file.empty()) check_can_write(options.json_file);
  const Slice slice = Slice::parse(options.slice);
  const StepTime step = step_time(workload(options.model), slice, options.batch);
  std::optional<VirtualSteps> virtual_steps;
  if (options.virtual_steps.steps > 0) {
    virtual_steps = run_virtual_steps({.slice = slice, .batch = options.batch, .step = step},
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
      "  compute {:.1f} us, all-reduce {:.1f} us; {} examples a second at best",
      us(step.compute_ps), us(step.all_reduce_ps), with_commas(std::llround(examples_per_s))));
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
      {"compute_us", us(step.compute_ps)},
      {"all_reduce_us", us(step.all_reduce_ps)},
      {"calibration", calibration(slice.chip().generation).source},
      {"step_us", us(step.total_ps())},
      {"examples_per_s", examples_per_s},
      {"virtual", virtual_steps ? json_of(*virtual_steps) : nlohmann::ordered_json(nullptr)}};
  replace_file(options.json_file, json_text(json), Durability::leave_to_system);
}

}  // namespace

Command add_step_command(CLI::App& app) {
  const auto options = std::make_shared<StepOptions>();
  CLI::App* const command = app.add_subcommand(
      "step", "How long a model's step takes on a slice, and who waits for whom");
  command->add_option("--slice", options->slice, "The TPU to simulate, by Google Cloud's name")
      ->capture_default_str()
      ->type_name("NAME");
  command
      ->add_option("--model", options->model,
                   fmt::format("One of {}", fmt::join(workload_names(), ", ")))
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--batch", options->batch, "The global batch, over all replicas")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32))
      ->capture_default_str();
  command
      ->add_flag("--validate", options->validates,
                 "Compare with 15 published runs instead; exit status 1 when one is missed by more "
                 "than its bar")
      ->excludes("--slice", "--model", "--batch");
  add_virtual_options(*command, options->virtual_steps);
  command->add_option("--json", options->json_file, "Write all figures to FILE")->type_name("FILE");
  command->add_flag("--no-color", options->no_color, "Print no colours");
  command->footer(
      "Example: infeed step --slice v3-2048 --model resnet50 --batch 32768 --virtual 1000\n");
  return {.options = command, .run = [options](std::stop_token stop) {
            options->validates ? run_validation(*options) : run_step(*options, stop);
          }};
}

}  // namespace infeed::tools
