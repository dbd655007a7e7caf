#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "infeed/device/fit.h"
#include "train/simulated_steps.h"

namespace infeed {
namespace {

std::string row(std::string_view name, const StepSummary& summary) {
  const std::vector<int> shares =
      permille({summary.infeed_wait_ps, summary.transfer_ps, summary.compute_ps,
                summary.all_reduce_ps, summary.idle_ps});
  const auto steps = static_cast<double>(std::max<std::int64_t>(summary.steps, 1));
  return fmt::format("{:12} {:6.1f} {:9.1f} {:8.1f} {:11.1f} {:6.1f} {:8.2f} ms\n", name,
                     shares[0] / 10.0, shares[1] / 10.0, shares[2] / 10.0, shares[3] / 10.0,
                     shares[4] / 10.0, static_cast<double>(summary.step_ps) * 1e-9 / steps);
}

}  // namespace

StepSummary FitResult::steady() const {
  return detail::without_compilations(simulated, compilations);
}

std::string FitResult::table() const {
  std::string text = fmt::format("{:12} {:>6} {:>9} {:>8} {:>11} {:>6} {:>11}\n", "", "wait",
                                 "transfer", "compute", "all-reduce", "idle", "a step");
  text += row("host", wall);
  const StepSummary device = steady();
  text += row(slice, device);
  if (!epochs.empty()) {
    const Metrics& last = epochs.back().validation.value_or(epochs.back().training);
    text += fmt::format("loss {:.4f}, accuracy {:.1f} %{}; ", last.loss(), 100 * last.accuracy(),
                        epochs.back().validation ? " (validation)" : "");
  }
  text += fmt::format("model FLOP utilisation {:.1f} %; ", 100 * model_flop_utilisation);
  const std::int64_t compiled_ps = simulated.step_ps - device.step_ps;
  text +=
      fmt::format("{} shape{} of batch compiled in {:.1f} s\n", compilations.size(),
                  compilations.size() == 1 ? "" : "s", static_cast<double>(compiled_ps) * 1e-12);
  text += wall.sentence_with_clock() + "\n" + device.sentence_with_clock() + "\n";
  if (!message.empty()) text += message + "\n";
  return text;
}

}  // namespace infeed
