#include "plan/plan_outputs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "cli/terminal.h"
#include "plan/plan_texts.h"

namespace infeed::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// "12.3 MB": with a unit that leaves three digits.
std::string bytes_text(double bytes) {
  constexpr double kThousand = 1000;
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= kThousand - 0.5 && unit + 1 < std::size(units)) {
    bytes /= kThousand;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

std::string row_text(const PlannedHosts& row) {
  return fmt::format(
      "{:>6} {:>10} {:>8} {:>12} {:>8}   {:>5} {:>6} {:>12}", with_commas(row.hosts),
      time_text_of_ps(row.as_recorded.step_ps), percent_text_of_share(row.as_recorded.duty_cycle),
      time_text_of_ps(row.slowest_p50_ps), percent_text_of_share(row.cost_of_slowest),
      row.need ? fmt::format("{:g}", row.need->cores) : "none",
      row.need ? with_commas(row.need->queue_depth) : "none",
      row.storage_bytes_per_s > 0 ? bytes_text(row.storage_bytes_per_s) + "/s" : "-");
}

OrderedJson json_of(const HostSetUp& set_up) {
  return {{"cores", set_up.cores},
          {"queue_depth", set_up.queue_depth},
          {"step_ps", set_up.step_ps},
          {"duty_cycle", set_up.duty_cycle}};
}

OrderedJson json_of(const PlannedHosts& row) {
  OrderedJson json = {{"hosts", row.hosts},
                      {"slice", row.slice},
                      {"device_step_ps", row.device_step_ps},
                      {"as_recorded", json_of(row.as_recorded)},
                      {"host_p50_ps", row.host_p50_ps},
                      {"slowest_host_p50_ps", row.slowest_p50_ps},
                      {"cost_of_slowest", row.cost_of_slowest},
                      {"queue_depth_with_recorded_cores", nullptr},
                      {"need", nullptr},
                      {"storage_bytes_per_s", row.storage_bytes_per_s}};
  if (row.queue_with_recorded_cores) {
    json["queue_depth_with_recorded_cores"] = *row.queue_with_recorded_cores;
  }
  if (row.need) json["need"] = json_of(*row.need);
  return json;
}

}  // namespace

void print_plan(const Plan& plan, Terminal& terminal) {
  const HostSetUp& recorded = plan.rows.front().as_recorded;
  terminal.line(terminal.paint(
      Paint::bold,
      fmt::format("{} batches replayed on 1 to {} hosts, steps of {}",
                  with_commas(plan.recorded_batches), with_commas(plan.rows.back().hosts),
                  time_text_of_ps(plan.rows.front().device_step_ps))));
  terminal.line(fmt::format(
      "  a host makes a batch of {} out of {} of its files, with {} of CPU time",
      bytes_text(static_cast<double>(plan.batch_bytes)), bytes_text(plan.storage_bytes_of_batch),
      time_text_of_ps(std::llround(std::min(plan.cpu_s_of_batch * 1e12, 1e18)))));
  terminal.line(fmt::format(
      "{:>48}   {:>12}",
      fmt::format("as recorded: {:g} cores, queue of {}", recorded.cores, recorded.queue_depth),
      fmt::format("for {:g} %", 100 * plan.duty_cycle)));
  terminal.line(fmt::format("{:>6} {:>10} {:>8} {:>12} {:>8}   {:>5} {:>6} {:>12}", "hosts", "step",
                            "duty", "slowest host", "costs", "cores", "queue", "storage"));
  for (const PlannedHosts& row : plan.rows) terminal.line(row_text(row));
  for (const MeasuredHosts& run : plan.measured) {
    terminal.line(fmt::format("  measured with {}: {} over {} steps of {} ({})",
                              counted(static_cast<std::uint64_t>(run.hosts), "host"),
                              percent_text_of_share(run.duty_cycle), with_commas(run.steps),
                              time_text_of_ps(run.step_ps), run.file));
  }
  for (const std::string& note : plan.notes) terminal.line("  note: " + note);
  const bool is_good = plan.rows.back().as_recorded.duty_cycle >= plan.duty_cycle;
  terminal.line(terminal.paint(is_good                 ? Paint::good
                               : plan.rows.back().need ? Paint::warning
                                                       : Paint::bad,
                               plan.verdict));
}

OrderedJson plan_json(const Plan& plan) {
  OrderedJson rows = OrderedJson::array();
  for (const PlannedHosts& row : plan.rows) rows.push_back(json_of(row));
  OrderedJson measured = OrderedJson::array();
  for (const MeasuredHosts& run : plan.measured) {
    measured.push_back({{"hosts", run.hosts},
                        {"duty_cycle", run.duty_cycle},
                        {"step_ps", run.step_ps},
                        {"steps", run.steps},
                        {"file", run.file}});
  }
  return {{"schema", "infeed.plan"},
          {"schema_version", kPlanSchemaVersion},
          {"infeed_version", INFEED_VERSION},
          {"duty_cycle", plan.duty_cycle},
          {"recorded_batches", plan.recorded_batches},
          {"batch_examples", plan.batch_examples},
          {"batch_bytes", plan.batch_bytes},
          {"storage_bytes_of_batch", plan.storage_bytes_of_batch},
          {"cpu_s_of_batch", plan.cpu_s_of_batch},
          {"rows", rows},
          {"measured", measured},
          {"verdict", plan.verdict},
          {"notes", plan.notes}};
}

}  // namespace infeed::tools
