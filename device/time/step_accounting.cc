#include "infeed/device/step_accounting.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "refuse.h"
#include "time/clock_units.h"

namespace infeed {
namespace {

constexpr double kHighlyBoundShare = 0.20;
constexpr double kModeratelyBoundShare = 0.05;

void check_step(std::span<const StepEvent> step, std::size_t replicas) {
  if (step.size() != replicas) {
    detail::refuse(
        "step accounting got {} events for a step of {} replicas; give one event a replica",
        step.size(), replicas);
  }
  for (std::size_t r = 0; r < step.size(); ++r) {
    const StepEvent& event = step[r];
    const std::int64_t least = std::min({event.infeed_wait_ps, event.transfer_ps, event.idle_ps,
                                         event.compute_ps, event.all_reduce_ps, event.examples});
    if (event.replica != static_cast<std::int32_t>(r) || event.step != step[0].step || least < 0 ||
        event.end_ps() != step[0].end_ps()) {
      detail::refuse(
          "event {} of step {} says replica {}, step {}, end {} ps (smallest part {}); expected "
          "replica {}, one step, end {} ps and no negative part",
          r, step[0].step, event.replica, event.step, event.end_ps(), least, r, step[0].end_ps());
    }
  }
}

/// Sets rates and shares from the sums and the span.
void set_rates(StepSummary& summary) {
  if (summary.span_ps > 0) {
    const auto span = static_cast<double>(summary.span_ps);
    summary.steps_per_s = static_cast<double>(summary.steps) * detail::kPsPerSecond / span;
    summary.examples_per_s = static_cast<double>(summary.examples) * detail::kPsPerSecond / span;
  }
  if (summary.step_ps > 0) {
    summary.infeed_wait_share =
        static_cast<double>(summary.infeed_wait_ps) / static_cast<double>(summary.step_ps);
  }
  summary.verdict = input_verdict(summary.infeed_wait_share);
}

}  // namespace

std::string_view to_string(InputVerdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"NOT", "MODERATELY", "HIGHLY"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

InputVerdict input_verdict(double infeed_wait_share) {
  if (infeed_wait_share >= kHighlyBoundShare) return InputVerdict::highly_bound;
  if (infeed_wait_share >= kModeratelyBoundShare) return InputVerdict::moderately_bound;
  return InputVerdict::not_bound;
}

std::string StepSummary::sentence() const {
  if (steps == 0) return "No step was taken, so nothing is known of its input.";
  const std::string_view advice = verdict == InputVerdict::highly_bound
                                      ? "first focus on reducing the input time"
                                  : verdict == InputVerdict::moderately_bound
                                      ? "need to reduce both the input time and other time"
                                      : "focus on reducing other time";
  return fmt::format(
      "Your program is {} input-bound because {}{:.1f}% of the total step time sampled is waiting "
      "for "
      "input. Therefore, you {} {}.",
      to_string(verdict), verdict == InputVerdict::not_bound ? "only " : "",
      infeed_wait_share * 100, verdict == InputVerdict::moderately_bound ? "would" : "should",
      advice);
}

std::string StepSummary::sentence_with_clock() const {
  return fmt::format("On the {} clock: {}", clock == StepClock::wall ? "wall's" : "device's",
                     sentence());
}

StepSummary StepSummary::without_idle(std::int64_t ps) const {
  StepSummary rest = *this;
  rest.idle_ps -= ps;
  rest.step_ps -= ps;
  rest.span_ps -= ps;
  if (rest.step_ps <= 0) return rest;
  rest.duty_cycle = duty_cycle * static_cast<double>(span_ps) / static_cast<double>(rest.span_ps);
  set_rates(rest);
  return rest;
}

std::vector<int> permille(const std::vector<std::int64_t>& parts) {
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  if (sum <= 0) return std::vector<int>(parts.size());
  std::vector<int> shares;
  std::vector<std::pair<double, std::size_t>> rests;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double exact = 1000 * static_cast<double>(parts[i]) / sum;
    shares.push_back(static_cast<int>(exact));
    rests.emplace_back(shares.back() - exact, i);
  }
  std::ranges::sort(rests);
  const int missing = 1000 - std::accumulate(shares.begin(), shares.end(), 0);
  for (int i = 0; i < missing; ++i) ++shares[rests[static_cast<std::size_t>(i)].second];
  return shares;
}

StepAccounting::StepAccounting(std::int32_t replicas)
    : busy_(static_cast<std::size_t>(std::max(replicas, 0))) {
  if (replicas <= 0) {
    detail::refuse("step accounting of {} replicas; at least 1 is needed", replicas);
  }
}

void StepAccounting::add(std::span<const StepEvent> step) {
  check_step(step, busy_.size());
  const StepEvent* slowest = &step[0];
  for (std::size_t r = 0; r < step.size(); ++r) {
    const StepEvent& event = step[r];
    if (event.infeed_wait_ps > slowest->infeed_wait_ps) slowest = &event;
    // Steps come in order, so the union of the busy intervals needs only the last end.
    const std::int64_t start = std::max(event.end_ps() - event.busy_ps(), busy_[r].end_ps);
    busy_[r].union_ps += std::max<std::int64_t>(0, event.end_ps() - start);
    busy_[r].end_ps = std::max(busy_[r].end_ps, event.end_ps());
    sums_.examples += event.examples;
    begin_ps_ = std::min(begin_ps_.value_or(event.begin_ps), event.begin_ps);
  }
  end_ps_ = std::max(end_ps_, step[0].end_ps());
  ++sums_.steps;
  sums_.infeed_wait_ps += slowest->infeed_wait_ps;
  sums_.transfer_ps += slowest->transfer_ps;
  sums_.idle_ps += slowest->idle_ps;
  sums_.compute_ps += slowest->compute_ps;
  sums_.all_reduce_ps += slowest->all_reduce_ps;
  sums_.step_ps += slowest->step_ps();
  sums_.step_ps_max = std::max(sums_.step_ps_max, slowest->step_ps());
}

StepSummary StepAccounting::summary() const {
  StepSummary summary = sums_;
  if (summary.steps == 0) return summary;
  summary.span_ps = end_ps_ - *begin_ps_;
  double busy = 0;
  for (const Busy& replica : busy_) busy += static_cast<double>(replica.union_ps);
  const auto span = static_cast<double>(summary.span_ps);
  if (span > 0) summary.duty_cycle = busy / (span * static_cast<double>(busy_.size()));
  set_rates(summary);
  return summary;
}

}  // namespace infeed
