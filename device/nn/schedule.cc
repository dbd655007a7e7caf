#include "infeed/device/schedule.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "nn/kernels/fixed_math.h"
#include "refuse.h"

namespace infeed::nn {
namespace {

void require_rate(double rate, std::string_view what) {
  if (rate >= 0 && std::isfinite(rate)) return;
  detail::refuse("{} of {}; expected a finite number that isn't negative", what, rate);
}

void require_steps(std::uint64_t steps, std::string_view what) {
  if (steps >= 1) return;
  detail::refuse("{} over {} steps; it takes 1 or more", what, steps);
}

void require_schedule(bool is_there, std::string_view what) {
  if (is_there) return;
  detail::refuse("{} is empty; give a schedule, as constant_rate()", what);
}

/// Returns the share of the way to `steps` that `step` has gone: 0 to 1.
double share_of(std::uint64_t step, std::uint64_t steps) {
  return static_cast<double>(std::min(step, steps)) / static_cast<double>(steps);
}

}  // namespace

Schedule constant_rate(double rate) {
  require_rate(rate, "a learning rate");
  return [rate](std::uint64_t) { return rate; };
}

Schedule warm_up(std::uint64_t steps, Schedule then) {
  require_steps(steps, "warming up");
  require_schedule(then != nullptr, "what follows warming up");
  return [steps, then = std::move(then)](std::uint64_t step) {
    return step < steps ? then(0) * share_of(step + 1, steps) : then(step - steps);
  };
}

Schedule cosine_decay(double rate, std::uint64_t steps, double floor) {
  require_rate(rate, "a learning rate");
  require_rate(floor, "a floor");
  require_steps(steps, "cosine decay");
  return [=](std::uint64_t step) {
    const double share = 0.5 * (1 + detail::fixed_cos_pi(share_of(step, steps)));
    return rate * (floor + (1 - floor) * share);
  };
}

Schedule step_decay(double rate, std::vector<std::uint64_t> boundaries, double factor) {
  require_rate(rate, "a learning rate");
  require_rate(factor, "a factor");
  if (!std::ranges::is_sorted(boundaries)) {
    detail::refuse("step decay at the steps {}; expected them in ascending order",
                   fmt::join(boundaries, ", "));
  }
  return [rate, factor, boundaries = std::move(boundaries)](std::uint64_t step) {
    double now = rate;
    for (const std::uint64_t boundary : boundaries) {
      if (step >= boundary) now *= factor;
    }
    return now;
  };
}

Schedule polynomial_decay(double rate, double last, std::uint64_t steps, double power) {
  require_rate(rate, "a learning rate");
  require_rate(last, "a last learning rate");
  require_steps(steps, "polynomial decay");
  if (!(power > 0) || !std::isfinite(power)) {
    detail::refuse("polynomial decay with power {}; expected one above 0", power);
  }
  return [=](std::uint64_t step) {
    return (rate - last) * detail::fixed_power(1 - share_of(step, steps), power) + last;
  };
}

double scaled_rate(const ScaledRate& options) {
  require_rate(options.base_rate, "a base rate");
  if (options.global_batch < 1 || options.base_batch < 1) {
    detail::refuse(
        "a learning rate for a global_batch of {}, scaled from a base_batch of {}; batches have 1 "
        "example or more",
        options.global_batch, options.base_batch);
  }
  const double factor =
      static_cast<double>(options.global_batch) / static_cast<double>(options.base_batch);
  const double rate =
      options.base_rate * (options.rule == BatchRule::linear ? factor : std::sqrt(factor));
  if (!std::isfinite(rate)) {
    detail::refuse(
        "a base rate of {}, scaled from a base_batch of {} to a global_batch of {}, is beyond what "
        "a double has; take a smaller one",
        options.base_rate, options.base_batch, options.global_batch);
  }
  return rate;
}

Schedule scaled_with_batch(const ScaledRate& options,
                           const std::function<Schedule(double peak)>& after) {
  const double peak = scaled_rate(options);
  require_schedule(after != nullptr, "`after`");
  Schedule then = after(peak);
  require_schedule(then != nullptr, "what `after` gives");
  const std::uint64_t steps = options.warm_up_steps;
  const double first = std::min(options.base_rate, peak);
  return [=, then = std::move(then)](std::uint64_t step) {
    return step < steps ? first + (peak - first) * share_of(step, steps) : then(step - steps);
  };
}

}  // namespace infeed::nn
