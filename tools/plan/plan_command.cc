#include <CLI/CLI.hpp>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include <infeed/detail/parse_whole.h>
#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>
#include <infeed/error.h>
#include <infeed/records/output_file.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "plan/plan.h"
#include "plan/plan_outputs.h"

namespace infeed::tools {
namespace {

struct PlanArguments {
  std::string recording;
  PlanOptions plan;
  double step_us = 0;
  double duty_cycle_percent = 99;
  std::vector<std::string> measured;
  std::string json_file;
  std::string svg_file;
  bool no_color = false;
};

/// HOSTS:FILE of --measured.
struct MeasuredFile {
  int hosts = 0;
  std::string file;
};

MeasuredFile measured_file(const std::string& text) {
  MeasuredFile measured;
  const std::size_t colon = text.find(':');
  const bool is_number = infeed::detail::parse_whole(text.substr(0, colon), measured.hosts);
  if (colon == text.npos || colon + 1 == text.size() || !is_number || measured.hosts < 1 ||
      measured.hosts > kPlannedHostsMax) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--measured '{}'; expected HOSTS:FILE, a recording of one of 1 to {} "
                            "hosts, such as 4:rank0.profile",
                            text, with_commas(kPlannedHostsMax)));
  }
  measured.file = text.substr(colon + 1);
  return measured;
}

void run_plan(const PlanArguments& arguments, const std::stop_token& stop) {
  for (const std::string* const file : {&arguments.json_file, &arguments.svg_file}) {
    if (!file->empty()) check_can_write(*file);
  }
  std::vector<MeasuredHosts> measured;
  for (const std::string& text : arguments.measured) {
    const MeasuredFile file = measured_file(text);
    measured.push_back(measured_hosts(read_recorded_run(file.file, stop), file.hosts));
  }
  PlanOptions options = arguments.plan;
  options.step_ps = std::llround(arguments.step_us * 1e6);
  options.duty_cycle = arguments.duty_cycle_percent / 100;
  options.stop = stop;
  Terminal terminal(stdout, {.colours = !arguments.no_color});
  terminal.status("replaying the recorded batches");
  Plan made = plan(read_recorded_run(arguments.recording, stop), options);
  made.measured.insert(made.measured.end(), measured.begin(), measured.end());
  print_plan(made, terminal);
  if (!arguments.json_file.empty()) {
    replace_file(arguments.json_file, json_text(plan_json(made)), Durability::leave_to_system);
  }
  if (!arguments.svg_file.empty()) {
    replace_file(arguments.svg_file, plan_svg(made), Durability::leave_to_system);
  }
}

}  // namespace

Command add_plan_command(CLI::App& app) {
  const auto arguments = std::make_shared<PlanArguments>();
  CLI::App* const command = app.add_subcommand(
      "plan", "Say which hosts a slice needs, from one recorded run: cores, storage, queues");
  command
      ->add_option("RECORDING", arguments->recording,
                   "The recording that INFEED_PROFILE=FILE made a program write on one host")
      ->required();
  command
      ->add_option("--slice", arguments->plan.slice,
                   "The slice to plan for, by Google Cloud's name, of at most 1,024 hosts; by "
                   "default v4-8192, or as many of its hosts as the recording has batches for")
      ->check(parsed_by(Slice::parse))
      ->type_name("NAME");
  auto* const step =
      command
          ->add_option("--step-us", arguments->step_us,
                       "How long the device takes for a step, instead of the recorded time")
          ->check(CLI::Range(1.0, 1e9))
          ->type_name("US");
  command
      ->add_option("--model", arguments->plan.model,
                   fmt::format("Take this model's step on the slice, with the recorded batch a "
                               "host; one of {}",
                               fmt::join(workload_names(), ", ")))
      ->check(parsed_by(workload))
      ->type_name("NAME")
      ->excludes(step);
  command
      ->add_option("--duty-cycle", arguments->duty_cycle_percent,
                   "Percent of the time that devices are to be busy")
      ->check(CLI::Range(1.0, 99.99))
      ->capture_default_str()
      ->type_name("PERCENT");
  command->add_option("--cores-max", arguments->plan.cores_max, "Cores that a host may have")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--queue-max", arguments->plan.queue_max, "Batches that a host may hold ready")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command
      ->add_option("--measured", arguments->measured,
                   "The recording of one host of a real run of so many, to be shown beside the "
                   "plan; may be given several times")
      ->type_name("HOSTS:FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--json", arguments->json_file, "Write all figures to FILE")
      ->type_name("FILE");
  command->add_option("--svg", arguments->svg_file, "Write a picture of the duty cycle to FILE")
      ->type_name("FILE");
  command->add_flag("--no-color", arguments->no_color, "Print no colours");
  command->footer(
      "Examples: infeed plan run.profile\n"
      "          infeed plan run.profile --slice v4-512 --model resnet50 --svg plan.svg\n"
      "          infeed plan run.profile --measured 4:rank0.profile --json plan.json\n"
      "Each host is taken to be a machine like the recorded one, with as much of the storage.\n");
  return {.options = command,
          .run = [arguments](const std::stop_token& stop) { run_plan(*arguments, stop); }};
}

}  // namespace infeed::tools
