#include "device/validate_steps.h"

#include <fmt/format.h>

#include <infeed/device/step_validation.h>

#include "cli/terminal.h"

namespace infeed::tools {

nlohmann::ordered_json validate_steps(Terminal& terminal) {
  terminal.line(fmt::format("{:>2}  {:<10} {:<4} {:<8} {:>6} {:>12} {:>9} {:>8} {:>6}", "#",
                            "model", "run", "slice", "batch", "published ms", "model ms", "error",
                            "bar"));
  bool holds = true;
  int held_out = 0;
  int independent = 0;
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const ValidationPoint& point : validate_step_times()) {
    holds = holds && point.holds();
    held_out += point.is_calibrated ? 0 : 1;
    independent += point.is_independent ? 1 : 0;
    terminal.line(fmt::format(
        "{:>2}  {:<10} {:<4} {:<8} {:>6} {:>12.1f} {:>9.1f} {:>+6.1f} % {:>4.0f} %  {}{}",
        point.number, point.model, point.run, point.slice, point.global_batch, point.published_ms,
        point.model_ms, 100 * point.error(), 100 * point.error_max,
        point.is_calibrated    ? "calibrated"
        : point.is_independent ? "held out"
                               : "held out, as a row before",
        point.holds() ? "" : "  BEYOND ITS BAR"));
    points.push_back({{"number", point.number},
                      {"model", point.model},
                      {"run", point.run},
                      {"slice", point.slice},
                      {"batch", point.global_batch},
                      {"published_ms", point.published_ms},
                      {"model_ms", point.model_ms},
                      {"error_percent", 100 * point.error()},
                      {"error_max_percent", 100 * point.error_max},
                      {"is_calibrated", point.is_calibrated},
                      {"is_independent", point.is_independent},
                      {"holds", point.holds()}});
  }
  terminal.line(fmt::format(
      "{} of the {} rows that were held out are independent: the others have the same work a "
      "replica as one that was calibrated, or as a row before them",
      independent, held_out));
  const bool order = batch_order_is_right();
  terminal.line(fmt::format("order of ResNet-50's batch sizes on v3, 128 to 8 a core: {}",
                            order ? "right" : "WRONG"));
  nlohmann::ordered_json cycles = nlohmann::ordered_json::array();
  for (const CyclesCase& one : validate_cycles()) {
    holds = holds && one.holds();
    terminal.line(fmt::format("SCALE-Sim, {}, {}: reported {} cycles, computed {}: {}", one.product,
                              one.dataflow, one.reported, one.computed,
                              one.holds() ? "exact" : "WRONG"));
    cycles.push_back({{"product", one.product},
                      {"dataflow", one.dataflow},
                      {"reported", one.reported},
                      {"computed", one.computed},
                      {"holds", one.holds()}});
  }
  return {{"points", points},
          {"batch_order_is_right", order},
          {"scale_sim", cycles},
          {"holds", holds && order}};
}

}  // namespace infeed::tools
