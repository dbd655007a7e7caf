#include "infeed/pipeline/step_timer.h"

#include <algorithm>
#include <fmt/format.h>

namespace infeed {

StepTimer::StepTimer(detail::IteratorCore& core)
    : core_(core), waited_before_(core.consumer_wait()), position_before_(core.position()) {
  core_.expect_steps();
}

void StepTimer::begin(std::string_view name) {
  begin_ = Clock::now();
  has_begun_ = true;
  name_ = name;
}

void StepTimer::end() {
  const Clock::time_point now = Clock::now();
  const std::chrono::nanoseconds length = now - last_end_;
  const std::chrono::nanoseconds waited = core_.consumer_wait();
  StepTimes step;
  step.begin = last_end_;
  step.infeed_wait = std::clamp(waited - waited_before_, std::chrono::nanoseconds(0), length);
  const std::chrono::nanoseconds left = length - step.infeed_wait;
  step.compute = has_begun_
                     ? std::min(left, std::chrono::nanoseconds(now - std::max(begin_, last_end_)))
                     : left;
  step.idle = left - step.compute;
  step.elements = core_.position() - position_before_;
  step.name = name_;
  ++steps_;
  infeed_wait_ += step.infeed_wait;
  compute_ += step.compute;
  idle_ += step.idle;
  core_.record_step(step);
  waited_before_ = waited;
  position_before_ = core_.position();
  last_end_ = now;
  has_begun_ = false;
  name_.clear();
}

std::string StepTimer::summary() const {
  const std::chrono::nanoseconds all = infeed_wait_ + compute_ + idle_;
  if (steps_ == 0 || all.count() == 0) return "no steps";
  const auto percent = [all](std::chrono::nanoseconds part) {
    return 100.0 * static_cast<double>(part.count()) / static_cast<double>(all.count());
  };
  const double each_ms = static_cast<double>(all.count()) / 1e6 / static_cast<double>(steps_);
  return fmt::format(
      "{} steps, {} ms each: {:.1f} % computing, {:.1f} % waiting for input, "
      "{:.1f} % idle",
      steps_, each_ms < 1000 ? fmt::format("{:.3g}", each_ms) : fmt::format("{:.0f}", each_ms),
      percent(compute_), percent(infeed_wait_), percent(idle_));
}

}  // namespace infeed
