#include "map/job_runner.h"

#include <algorithm>
#include <sys/resource.h>
#include <utility>

#include "engine/recording/note_calls.h"
#include "engine/statistics/pull_sample.h"
#include "engine/threads/clock.h"
#include "engine/work/error_bytes.h"

namespace infeed::detail {
namespace {

// A job waits rather than computes if its CPU clock ran for less than half of its time and its
// thread gave the core away by itself. On a busy machine the core is taken away instead, and more
// threads would only get in each other's way.
constexpr double kBlockedShare = 0.5;
constexpr double kBlockedUs = 400;
// Used if the iterator records: a watch costs 30 ns.
constexpr double kWorthWatchingUs = 2;
constexpr std::size_t kWatchedAtOnce = 32;
// Looking at the results costs 30 ns, too.
constexpr double kBlockUs = 20;

std::uint64_t times_thread_waited() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

}  // namespace

void JobRunner::run(Job& job, bool may_stop) const {
  const std::uint64_t begin = ticks_now();
  std::uint64_t position = job.position;
  job.out.emplace(*spec_->out_type, job.in.size());
  const bool has_payload = spec_->out_type->payload_bytes_run != nullptr;
  if (run_.recorder() == nullptr && !has_payload) {
    run_elements(job, position, job.in.size());
  } else {
    run_blocks(job, position, may_stop && has_payload);
  }
  job.ticks = ticks_now() - begin;
  job.held.set(run_.memory(), job.result_bytes + job.in.bytes());
}

/// Runs the job block by block, so that the position of a slow element is known, and large results
/// are noticed before there are many. May stop after any block.
void JobRunner::run_blocks(Job& job, std::uint64_t& position, bool may_stop) const {
  std::size_t block = 1;
  while (job.in.size() > 0) {
    const std::uint64_t first = position;
    const std::uint64_t begin = ticks_now();
    CallWatch watch(run_.recorder(), counters_, begin);
    run_elements(job, position, std::min(block, job.in.size()));
    const std::uint64_t end = ticks_now();
    const std::uint64_t count = position - first;
    if (watch.is_on()) {
      note_calls(run_, counters_, watch, end, {epoch_, first, count}, input_);
      one_by_one_.note(end - begin, count, end - begin >= run_.recorder()->clock().slow_ticks());
    }
    block = block_behind(block, count, end - begin);
    if (!may_stop || job.in.size() == 0) continue;
    if (!job.held.try_grow_to(run_.memory(), job.result_bytes)) return;
  }
}

/// Returns the size of the next block: 1 if slow elements should be known and that costs little.
std::size_t JobRunner::block_behind(std::size_t block, std::uint64_t count,
                                    std::uint64_t ticks) const {
  const bool is_cheap =
      run_.recorder() == nullptr
          ? ticks < ticks_of_us(kBlockUs)
          : ticks < count * ticks_of_us(kWorthWatchingUs) && !one_by_one_.is_due();
  if (is_cheap) return std::min(kWatchedAtOnce, 2 * block);
  return run_.recorder() == nullptr ? std::max<std::size_t>(1, block / 2) : 1;
}

void JobRunner::run_elements(Job& job, std::uint64_t& position, std::size_t count) const {
  const std::uint64_t end = position + count;
  Chunk& out = *job.out;
  while (position < end && job.in.size() > 0) {
    ErrorPointer error;
    const KernelResult result =
        spec_->kernel(spec_->function.get(), nullptr, job.in.front(), out.back(),
                      static_cast<std::size_t>(end - position),
                      Place{position, epoch_, spec_->key, &run_, &counters_}, error);
    job.in.drop_front(result.consumed);
    position += result.consumed;
    job.result_bytes += spec_->out_type->bytes(out.back(), result.produced);
    out.grow(result.produced);
    if (error == nullptr) continue;
    job.result_bytes += bytes_when_kept(*error);
    job.failures.push_back({out.size(), std::move(error)});
  }
}

bool JobRunner::run_and_watch(Job& job, bool may_stop) const {
  const std::uint64_t waited_before = times_thread_waited();
  const std::uint64_t cpu_before_ns = thread_cpu_ns();
  run(job, may_stop);
  const std::uint64_t cpu_ns = thread_cpu_ns() - cpu_before_ns;
  counters_.work_time.add_sample(job.ticks, cpu_ns);
  return job.ticks > ticks_of_us(kBlockedUs) &&
         static_cast<double>(cpu_ns) <
             kBlockedShare * static_cast<double>(ns_of_ticks(job.ticks)) &&
         times_thread_waited() > waited_before;
}

}  // namespace infeed::detail
