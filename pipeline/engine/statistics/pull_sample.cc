#include "engine/statistics/pull_sample.h"

#include <chrono>
#include <time.h>

#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kTimesTheirPrice = 400;
constexpr std::uint64_t kStrideMax = 1 << 20;
// A reading that took longer was off its core meanwhile.
constexpr std::uint64_t kReadingNsMax = 1500;

std::uint64_t read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  const auto time = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  return static_cast<std::uint64_t>(time.count());
}

}  // namespace

std::uint64_t thread_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
std::uint64_t process_cpu_ns() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

std::uint64_t PullSample::read_cpu_ns() {
  const std::uint64_t begin = ticks_now();
  const std::uint64_t cpu_ns = thread_cpu_ns();
  const std::uint64_t ticks = ticks_now() - begin;
  thread_.overhead_ticks += ticks;
  thread_.overhead_cpu_ns += std::min(kReadingNsMax, ns_of_ticks(ticks));
  return cpu_ns;
}

void PullSample::begin() {
  overhead_before_ticks_ = thread_.overhead_ticks;
  overhead_cpu_ns_ = thread_.overhead_cpu_ns;
  begin_cpu_ns_ = read_cpu_ns();
  overhead_ticks_ = thread_.overhead_ticks;
  begin_ticks_ = ticks_now();
}

void PullSample::end() {
  const std::uint64_t ticks = ticks_now() - begin_ticks_ - overhead_ticks();
  const std::uint64_t overhead_cpu_ns = thread_.overhead_cpu_ns - overhead_cpu_ns_;
  const std::uint64_t cpu_ns = read_cpu_ns() - begin_cpu_ns_;
  counters_.pull_time.add_sample(thread_.weight * ticks,
                                 thread_.weight * (cpu_ns - std::min(cpu_ns, overhead_cpu_ns)));
  if (thread_.depth == 1) choose_stride(thread_.overhead_ticks - overhead_before_ticks_);
}

void PullSample::note_elements(const Chunk& out) {
  const std::uint64_t begin = ticks_now();
  StageCounters::add(counters_.sampled.elements, thread_.weight * out.slots());
  StageCounters::add(counters_.sampled.bytes, thread_.weight * out.bytes());
  thread_.overhead_ticks += ticks_now() - begin;
}

/// Places the stage's next sample at random, at one to two times the distance that this one's price
/// asks for, so that it doesn't meet the same pull of a recurring pattern each time.
void PullSample::choose_stride(std::uint64_t price_ticks) {
  const std::uint64_t pulls = counters_.pulls.load(std::memory_order_relaxed);
  const std::uint64_t ticks = counters_.pull_time.ticks.load(std::memory_order_relaxed);
  const std::uint64_t ticks_per_pull =
      std::max<std::uint64_t>(1, ticks / std::max<std::uint64_t>(1, pulls));
  const std::uint64_t length =
      std::min(kStrideMax, 1 + kTimesTheirPrice * price_ticks / ticks_per_pull);
  stride_.length = static_cast<std::uint32_t>(length + (ticks_now() >> 4) % length);
  stride_.left = stride_.length;
  thread_.weight = 0;
}

}  // namespace infeed::detail
