#include "map/job_threads.h"

#include <algorithm>
#include <utility>

namespace infeed::detail {
namespace {

// Number of long jobs in a row that waited until the function is known to block.
constexpr std::uint64_t kBlockedJobs = 3;
// The most waiting threads: more have brought nothing on a single machine so far.
constexpr int kBlockingThreadsMax = 64;

}  // namespace

JobThreads::JobThreads(IteratorContext& run, HandOff& hand_off, Options options,
                       Workers<Job>::Work work)
    : run_(run),
      hand_off_(hand_off),
      options_(std::move(options)),
      work_(std::move(work)),
      own_share_(run.threads(), /*is_wanted=*/false),
      count_(options_.count),
      own_(hand_off, {.begin = [this] { run_.begin_thread(options_.name); },
                      .claim = work_.claim,
                      .has_work = work_.has_work,
                      .run = work_.run}),
      executor_tasks_(run.executor(), [this] { run_as_task(); }) {}

void JobThreads::wake_one(Lock& lock) {
  if (is_blocking_) return own_.wake_one();
  if (tasks_ >= count_) return;
  ++tasks_;
  lock.unlock();
  executor_tasks_.submit();
}

void JobThreads::run_as_task() {
  auto lock = hand_off_.lock();
  run_or_abort(hand_off_, lock, [&] {
    // Once the function blocks, the stage's own threads do the rest.
    while (!hand_off_.stopped() && !hand_off_.aborted() && !is_blocking_ && tasks_ <= count_) {
      Job* const job = work_.claim(0);
      if (job == nullptr) break;
      work_.run(lock, *job);
    }
  });
  --tasks_;
}

void JobThreads::set_count(int count) {
  if (!is_blocking_) {
    count_ = count;
  } else {
    set_own(count);
  }
}

void JobThreads::set_own(int count) {
  if (count > own_share_.count()) own_share_.grow(count);
  try {
    count_ = own_.set_count(std::min(count, own_share_.count()));
  } catch (const Error&) {  // no threads: the executor runs the jobs as before
    is_blocking_ = false;
    count_ = options_.count;
  }
}

bool JobThreads::note_job(bool waited) {
  waits_in_a_row_ = waited ? waits_in_a_row_ + 1 : 0;
  // After a stop somebody may be joining the existing threads.
  if (is_blocking_ || hand_off_.stopped() || waits_in_a_row_ < kBlockedJobs) return false;
  int wanted = options_.count_blocking;
  if (knob_ != nullptr) {
    wanted = static_cast<int>(knob_->note_waits(wanted, std::max(wanted, kBlockingThreadsMax)));
  }
  if (own_share_.grow(wanted) == 0) return false;  // threads_max leaves none
  is_blocking_ = true;
  set_own(own_share_.count());
  return true;
}

}  // namespace infeed::detail
