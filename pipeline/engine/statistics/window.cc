#include "engine/statistics/window.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/iterator_context.h"
#include "engine/threads/cpu_limits.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kLimitsEveryNs = 1'000'000'000;

std::uint64_t growth(std::uint64_t now, std::uint64_t before) {
  return now - std::min(now, before);
}

/// Returns the part of the work that was on a core, by the samples so far.
std::uint64_t cpu_of(const StageStatistics& total, std::uint64_t work_ns) {
  if (!total.cpu_ns || total.work_ns == 0) return work_ns;
  const double share = static_cast<double>(*total.cpu_ns) / static_cast<double>(total.work_ns);
  return static_cast<std::uint64_t>(std::min(1.0, share) * static_cast<double>(work_ns));
}

}  // namespace

Window WindowMaker::look(std::uint64_t now_ns) {
  stages_.clear();
  PipelineStatistics now = run_.counters().statistics(&stages_);
  Window window;
  window.begin_ns = before_ns_;
  window.length_ns = growth(now_ns, std::exchange(before_ns_, now_ns));
  window.elapsed_ns = growth(now.elapsed_ns, before_.elapsed_ns);
  window.consumer_wait_ns = growth(now.consumer_wait_ns, before_.consumer_wait_ns);
  window.process_cpu_ns = growth(now.process_cpu_ns, before_.process_cpu_ns);
  fill_cores(window);
  window.memory_bytes = run_.memory().in_use_bytes();
  window.memory_limit_bytes = run_.memory().limit_bytes();
  const std::uint64_t refusals = run_.memory().refusals();
  window.memory_refusals = growth(refusals, std::exchange(refusals_before_, refusals));
  fill_stages(now, window);
  before_ = std::move(now);
  return window;
}

/// Takes the work of other processes as spread evenly over the machine's cores, of which this
/// process may have a few.
void WindowMaker::fill_cores(Window& window) {
  if (cores_ == 0 || before_ns_ - limits_read_at_ns_ > kLimitsEveryNs) {
    cores_ = usable_cpu_time();
    limits_read_at_ns_ = before_ns_;
  }
  window.cores = cores_;
  const std::uint64_t machine_ns = machine_busy_ns();
  const std::uint64_t machine_before_ns = std::exchange(machine_before_ns_, machine_ns);
  if (machine_before_ns == 0 || window.length_ns == 0) return;
  const std::uint64_t others_ns =
      growth(growth(machine_ns, machine_before_ns), window.process_cpu_ns);
  const double all = std::max(1U, std::thread::hardware_concurrency());
  window.cores_of_others = static_cast<double>(others_ns) / static_cast<double>(window.length_ns) *
                           std::min(1.0, cores_ / all);
}

void WindowMaker::fill_stages(const PipelineStatistics& now, Window& window) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const StageStatistics& total = now.stages[i];
    StageStatistics& before = stages_before_[stages_[i]];
    StageStatistics figures = total;
    figures.elements = growth(total.elements, before.elements);
    figures.bytes = growth(total.bytes, before.bytes);
    figures.work_ns = growth(total.work_ns, before.work_ns);
    figures.cpu_ns = cpu_of(total, figures.work_ns);
    figures.blocked_ns = figures.work_ns - std::min(figures.work_ns, *figures.cpu_ns);
    figures.wait_ns = growth(total.wait_ns, before.wait_ns);
    figures.full_ns = growth(total.full_ns, before.full_ns);
    before = total;
    window.stages.push_back({stages_[i], std::move(figures)});
  }
}

}  // namespace infeed::detail
