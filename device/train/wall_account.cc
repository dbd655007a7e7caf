#include "train/wall_account.h"

#include <algorithm>

#include "time/clock_units.h"

namespace infeed::detail {
namespace {

std::chrono::steady_clock::time_point instant(std::int64_t ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

}  // namespace

WallAccount::WallAccount() : accounting_(1), origin_ns_(monotonic_ns()) {}

StepTimes WallAccount::add(const Parts& parts) {
  const std::int64_t end_ns = monotonic_ns();
  const std::int64_t begin_ns = last_end_ns_.value_or(parts.begin_ns - parts.wait_ns);
  const std::int64_t idle_ns = std::max<std::int64_t>(0, parts.begin_ns - begin_ns - parts.wait_ns);
  const std::int64_t compute_ns = end_ns - begin_ns - parts.wait_ns - idle_ns - parts.reduce_ns;
  const StepEvent event{.step = number_++,
                        .examples = parts.examples,
                        .begin_ps = (begin_ns - origin_ns_) * kPsPerNs,
                        .infeed_wait_ps = parts.wait_ns * kPsPerNs,
                        .idle_ps = idle_ns * kPsPerNs,
                        .compute_ps = compute_ns * kPsPerNs,
                        .all_reduce_ps = parts.reduce_ns * kPsPerNs};
  accounting_.add({&event, 1});
  last_end_ns_ = end_ns;
  using std::chrono::nanoseconds;
  return {.begin = instant(begin_ns),
          .infeed_wait = nanoseconds(parts.wait_ns),
          .transfer = {},
          .compute = nanoseconds(compute_ns),
          .all_reduce = nanoseconds(parts.reduce_ns),
          .idle = nanoseconds(idle_ns),
          .elements = 1,
          .name = {}};
}

StepSummary WallAccount::summary() const {
  StepSummary summary = accounting_.summary();
  summary.clock = StepClock::wall;
  return summary;
}

}  // namespace infeed::detail
