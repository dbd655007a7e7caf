#include "sources/records/reader_threads.h"

#include <algorithm>

#include "engine/statistics/pull_sample.h"
#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

// Pieces of work between two that are measured with the CPU clock.
constexpr std::uint64_t kSampleEvery = 8;

}  // namespace

void ReaderThreads::begin(int threads, bool is_tuned) {
  if (threads == 1) return note_parallelism(1, is_tuned);
  counters_.has_threads = true;
  if (!is_tuned) {
    now_->store(static_cast<unsigned>(threads), std::memory_order_relaxed);
    note_parallelism(threads, false);
    return;
  }
  if (knob_) return;
  const KnobSpec spec{.shape = KnobShape::segments, .value = threads, .min = 0, .max = threads};
  knob_.emplace(run_.knobs(), counters_, spec, [this](std::int64_t value) {
    now_->store(static_cast<unsigned>(value), std::memory_order_relaxed);
    note_parallelism(value, true);
  });
  // The knob has the value that an earlier pass over the stage ended with.
  now_->store(static_cast<unsigned>(knob_->value()), std::memory_order_relaxed);
  note_parallelism(knob_->value(), true);
}

void ReaderThreads::note_parallelism(std::int64_t threads, bool is_tuned) {
  counters_.note_parallelism(static_cast<int>(std::max<std::int64_t>(1, threads)), is_tuned);
}

void ReaderThreads::decode(const std::function<void()>& work) {
  const bool is_sampled = decoded_.fetch_add(1, std::memory_order_relaxed) % kSampleEvery == 0;
  const std::uint64_t begin_cpu_ns = is_sampled ? thread_cpu_ns() : 0;
  const std::uint64_t begin_ticks = ticks_now();
  work();
  const std::uint64_t ticks = ticks_now() - begin_ticks;
  StageCounters::add(counters_.work_time.ticks, ticks);
  if (is_sampled) counters_.work_time.add_sample(ticks, thread_cpu_ns() - begin_cpu_ns);
}

void ReaderThreads::wait(const std::function<void()>& work) {
  const std::uint64_t begin_ticks = ticks_now();
  work();
  const std::uint64_t ticks = ticks_now() - begin_ticks;
  waited_ticks_ += ticks;
  StageCounters::add(counters_.wait_ticks, ticks);
}

ReaderThreads::Reading::Reading(ReaderThreads& threads)
    : threads_(threads), begin_ticks_(ticks_now()), waited_before_ticks_(threads.waited_ticks_) {}

ReaderThreads::Reading::~Reading() {
  const std::uint64_t ticks = ticks_now() - begin_ticks_;
  const std::uint64_t waited_ticks = threads_.waited_ticks_ - waited_before_ticks_;
  StageCounters::add(threads_.counters_.work_time.ticks, ticks - std::min(ticks, waited_ticks));
}

}  // namespace infeed::detail
