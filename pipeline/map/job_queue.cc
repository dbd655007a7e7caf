#include "map/job_queue.h"

#include <algorithm>
#include <chrono>

#include "engine/recording/call_watch.h"
#include "engine/threads/clock.h"
#include "engine/threads/driver.h"

namespace infeed::detail {
namespace {

// A thread switch costs 20 to 40 us. On two cores a 10 us function reached 0.47 of what two loops
// reach with jobs of 50 us, 0.85 with 250 us, 0.92 with 400 us, 0.95 with 600 us and four times as
// many of them as threads. 800 us gain 0.007, eight times as many 0.01, and hold 10 MB more of
// texts.
constexpr double kJobUs = 600;
// Where results are large a job is no longer than this.
constexpr std::uint64_t kJobBytes = std::uint64_t{1} << 20;
// Chunks cheaper than this are put through the function by the driver: handing them over costs
// more.
constexpr double kWorthAThreadUs = 20;
constexpr auto kCollectJobs = std::chrono::microseconds(2000);
// Three long jobs in a row that waited are the function's nature.
constexpr std::uint64_t kBlockedJobs = 3;
// More of them that wait have not been seen to bring anything on a single machine.
constexpr int kBlockingWorkersMax = 64;
constexpr std::uint64_t kWatchEvery = 8;

}  // namespace

JobQueue::JobQueue(IteratorContext& run, StageCounters& counters,
                   std::shared_ptr<const ElementwiseSpec> spec, const Stage& input,
                   std::uint64_t epoch, const JobQueueOptions& options)
    : run_(run),
      counters_(counters),
      spec_(std::move(spec)),
      input_(input),
      epoch_(epoch),
      options_(options),
      own_share_(run.threads(), /*is_wanted=*/false),
      workers_(options.parallelism),
      in_hand_(run.memory(), input.type().size),
      result_bytes_each_(spec_->out_type->size),
      lifeline_(std::make_shared<Lifeline>()),
      own_threads_(hand_off_, {.begin = [this] { run_.begin_thread(spec_->name); },
                               .claim = [this](auto) { return claim(Claimer::thread); },
                               .has_work = [this] { return has_waiting_job(); },
                               .run = [this](auto& lock, Job& job) { run_unlocked(lock, job); }}) {
  lifeline_->queue = this;
  counters_.has_own_calls = true;
}

JobQueue::~JobQueue() {
  stop();
  std::unique_lock lock(lifeline_->mutex);
  lifeline_->queue = nullptr;
  lifeline_->nobody_inside.wait(lock, [this] { return lifeline_->inside == 0; });
}

std::size_t JobQueue::jobs_max() const {
  // Four times what runs: as many again wait for a free thread, the others for the consumer.
  return 4 * static_cast<std::size_t>(workers_) + 2;
}

std::size_t JobQueue::elements_worth_a_job() const {
  const std::uint64_t bytes_each =
      std::max({in_hand_.bytes_each(), result_bytes_each_, std::uint64_t{1}});
  const std::uint64_t most =
      std::clamp<std::uint64_t>(kJobBytes / bytes_each, 1, kChunkElementsMax);
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(ticks_of_us(kJobUs) / ticks_per_element_, 1, most));
}

std::size_t JobQueue::elements_per_job() const {
  const auto lock = hand_off_.lock();
  return ticks_per_element_ == 0 ? 1 : elements_worth_a_job();
}

bool JobQueue::is_cheap() const {
  const auto lock = hand_off_.lock();
  return ticks_per_element_ != 0 &&
         ticks_per_element_ * kChunkElementsMax < ticks_of_us(kWorthAThreadUs);
}

void JobQueue::extend_last(Chunk& chunk, std::uint64_t& position) {
  const auto lock = hand_off_.lock();
  if (jobs_.empty() || ticks_per_element_ == 0) return;
  Job& last = *jobs_.back();
  if (last.state != Job::State::waiting || last.in.has_error()) return;
  // Unordered, the job that was added last may be gone; the one that is last now is none of ours.
  if (last.position + last.elements != position) return;
  const std::size_t wanted = elements_worth_a_job();
  if (last.in.size() >= wanted) return;
  const std::size_t count = std::min({wanted - last.in.size(), last.in.room(), chunk.size()});
  last.held.take_from(in_hand_.held(), chunk.type().bytes(chunk.front(), count));
  last.in.append_from(chunk, count);
  last.elements += count;
  position += count;
}

void JobQueue::run_here(Job& job) {
  // The clocks cost 3 us: not for each of many short ones.
  const bool is_watched = turn_.is_serial() && ++jobs_here_ % kWatchEvery == 0;
  if (is_watched) {
    run_and_watch(job, /*may_stop=*/false);
  } else {
    run_job(job, /*may_stop=*/false);
  }
  hold_results(job);
  const auto lock = hand_off_.lock();
  note_cost(job);
  job.state = Job::State::done;
}

/// The driver, until it takes something.
void JobQueue::wait_for_consumer(std::unique_lock<std::mutex>& lock,
                                 const std::function<bool()>& is_admitted) {
  const std::uint64_t begin = ticks_now();
  do {
    driver_waits_ = true;
    room_.wait_once(lock);
  } while (!is_admitted());
  driver_waits_ = false;
  StageCounters::add(counters_.full_ticks, ticks_now() - begin);
}

bool JobQueue::add(std::unique_ptr<Job> job) {
  auto lock = hand_off_.lock();
  const auto is_admitted = [&] { return hand_off_.stopped() || jobs_.size() < jobs_max(); };
  if (!is_admitted()) wait_for_consumer(lock, is_admitted);
  if (hand_off_.stopped()) return false;
  is_wanted_ = false;
  if (job->in.size() == 0) job->state = Job::State::done;  // run here, or just the input's error
  const bool is_done = job->state == Job::State::done;
  jobs_.push_back(std::move(job));
  if (is_done) {
    if (wake_at_ != 0 && ready_at_head() >= wake_at_) ready_.wake_one();
    return true;
  }
  // The executor may be busy for long, perhaps with the consumer itself (a user's function that
  // iterates a dataset of its own): a consumer that has nothing to do comes and does it.
  if (waits_for_any_job_) ready_.wake_one();
  start_runners(lock);
  return true;
}

void JobQueue::finish(ErrorPointer failure) {
  const auto lock = hand_off_.lock();
  in_hand_.held().release();
  hand_off_.finish_locked(std::move(failure));
}

void JobQueue::start_runners(std::unique_lock<std::mutex>& lock) {
  if (blocking_) return own_threads_.wake_one();
  if (runners_ >= workers_) return;
  ++runners_;
  lock.unlock();
  submit_runner();
}

void JobQueue::add_own_threads() {
  try {
    workers_ = own_threads_.set_count(std::min(workers_, own_share_.count()));
  } catch (const Error&) {  // none: it is the executor's as before
    blocking_ = false;
    workers_ = options_.parallelism;
  }
}

void JobQueue::submit_runner() {
  run_.executor().submit([lifeline = lifeline_] {
    JobQueue* queue = nullptr;
    {
      const std::lock_guard lock(lifeline->mutex);
      if (lifeline->queue == nullptr) return;
      queue = lifeline->queue;
      ++lifeline->inside;
    }
    queue->run_jobs();
    const std::lock_guard lock(lifeline->mutex);
    if (--lifeline->inside == 0) lifeline->nobody_inside.notify_all();
  });
}

bool JobQueue::has_waiting_job() const {
  return std::any_of(jobs_.begin() + static_cast<std::ptrdiff_t>(waiting_from_), jobs_.end(),
                     [](const auto& job) { return job->state == Job::State::waiting; });
}

Job* JobQueue::claim(Claimer claimer) {
  for (; waiting_from_ < jobs_.size(); ++waiting_from_) {
    Job& job = *jobs_[waiting_from_];
    if (job.state != Job::State::waiting) continue;
    if (!may_begin(job, claimer)) return nullptr;
    ++waiting_from_;
    job.state = Job::State::running;
    ++running_jobs_;
    return &job;
  }
  return nullptr;
}

void JobQueue::run_unlocked(std::unique_lock<std::mutex>& lock, Job& job) {
  lock.unlock();
  const bool blocked = run_and_watch(job, /*may_stop=*/true);
  hold_results(job);
  lock.lock();
  job_done(job, blocked);
}

void JobQueue::run_jobs() {
  auto lock = hand_off_.lock();
  // Once it blocks, the rest is for the stage's own threads.
  while (!hand_off_.stopped() && !blocking_ && runners_ <= workers_) {
    Job* const job = claim(Claimer::thread);
    if (job == nullptr) break;
    run_unlocked(lock, *job);
  }
  --runners_;
}

/// Jobs that could be taken now, counted up to what the consumer waits for.
std::size_t JobQueue::ready_at_head() const {
  std::size_t ready = 0;
  for (const auto& job : jobs_) {
    if (job->state == Job::State::done) {
      ++ready;
    } else if (options_.ordered) {
      break;
    }
  }
  return ready;
}

void JobQueue::note_cost(const Job& job) {
  StageCounters::add(counters_.work_ticks, job.ticks);
  const std::uint64_t per_element =
      std::max<std::uint64_t>(1, job.ticks / std::max<std::uint64_t>(1, job.elements));
  ticks_per_element_ =
      ticks_per_element_ == 0 ? per_element : (3 * ticks_per_element_ + per_element + 2) / 4;
  const std::uint64_t bytes_each = job.result_bytes / std::max<std::uint64_t>(1, job.elements);
  result_bytes_each_ = std::max(bytes_each, result_bytes_each_ - result_bytes_each_ / 16);
}

void JobQueue::job_done(Job& job, bool blocked) {
  if (job.in.size() > 0) split_off_rest(job);
  job.state = Job::State::done;
  --running_jobs_;
  note_cost(job);
  slow_jobs_blocked_ = blocked ? slow_jobs_blocked_ + 1 : 0;
  // Once it is stopped, somebody may be joining the threads that there are.
  if (!blocking_ && !hand_off_.stopped() && slow_jobs_blocked_ >= kBlockedJobs) note_blocking();
  if (wake_at_ != 0 && ready_at_head() >= wake_at_) {
    wake_at_ = 0;
    ready_.wake_one();
  }
}

/// Its jobs go to threads of its own from now on.
void JobQueue::note_blocking() {
  int wanted = options_.parallelism_blocking;
  if (knob_ != nullptr) {
    wanted = static_cast<int>(knob_->note_waits(wanted, std::max(wanted, kBlockingWorkersMax)));
  }
  if (own_share_.grow(wanted) == 0) return;  // threads_max leaves none
  blocking_ = true;
  workers_ = own_share_.count();
  if (options_.is_tuned) counters_.note_parallelism(turn_.is_serial() ? 0 : workers_, true);
  add_own_threads();
  room_.wake_one();
}

void JobQueue::set_knob(Knob& knob) {
  const auto lock = hand_off_.lock();
  knob_ = &knob;
}

void JobQueue::set_workers(int workers) {
  const auto lock = hand_off_.lock();
  if (hand_off_.stopped()) return;
  // Where it is serial what is there is still done by as many as before.
  if (workers > 0) workers_ = workers;
  if (blocking_ && workers > own_share_.count()) workers_ = own_share_.grow(workers);
  counters_.note_parallelism(workers == 0 ? 0 : workers_, true);
  if (blocking_) add_own_threads();
  turn_.set_serial(workers == 0);
  room_.wake_all();
}

Pull JobQueue::take(std::unique_ptr<Job>& result) {
  auto lock = hand_off_.lock();
  std::uint64_t wait_begin = 0;
  std::optional<WaitWatch> wait;
  while (true) {
    if (hand_off_.stopped()) return Pull::cancelled;
    const auto end = options_.ordered && !jobs_.empty() ? jobs_.begin() + 1 : jobs_.end();
    const auto done = std::find_if(jobs_.begin(), end,
                                   [](const auto& job) { return job->state == Job::State::done; });
    if (done != end) {
      if (static_cast<std::size_t>(done - jobs_.begin()) < waiting_from_) --waiting_from_;
      result = std::move(*done);
      jobs_.erase(done);
      break;
    }
    if (jobs_.empty() && hand_off_.finished()) {
      hand_off_.throw_failure();
      return Pull::end;
    }
    if (jobs_.empty() && turn_.driver_rests()) {
      turn_.take();
      return Pull::values;
    }
    if (wait_begin == 0) {
      wait_begin = ticks_now();
      wait.emplace(run_.recorder());
    }
    // Nobody has begun the next job: don't wait for a thread, be one.
    const bool is_begun = jobs_.empty() || jobs_.front()->state != Job::State::waiting;
    if (!blocking_ && !is_begun && running_jobs_ < workers_) {
      run_unlocked(lock, *claim(Claimer::consumer));
      continue;
    }
    const bool collects = ticks_per_element_ != 0 && jobs_.size() > 2 && !blocking_ &&
                          ticks_per_element_ < ticks_of_us(kJobUs) && !has_been_short_of_memory_;
    wake_at_ = collects ? std::min<std::size_t>(4, jobs_.size() / 2) : 1;
    waits_for_any_job_ = jobs_.empty();
    is_wanted_ = jobs_.empty();
    if (is_wanted_ && driver_waits_) room_.wake_one();
    // Its own threads may have found no room for what the consumer now waits for.
    if (blocking_ && is_short_of_memory_) own_threads_.wake_one();
    if (wake_at_ == 1) {
      ready_.wait_once(lock);
    } else {
      ready_.wait_once_for(lock, kCollectJobs);
    }
    wake_at_ = 0;
    waits_for_any_job_ = false;
  }
  if (wait_begin != 0) StageCounters::add(counters_.wait_ticks, ticks_now() - wait_begin);
  if (driver_waits_ && 2 * jobs_.size() <= jobs_max()) {
    driver_waits_ = false;
    lock.unlock();
    room_.wake_one();
  }
  return Pull::values;
}

void JobQueue::recycle(std::unique_ptr<Job> job) {
  job->held.release();
  auto lock = hand_off_.lock();
  if (recycled_.size() < jobs_max()) recycled_.push_back(std::move(job));
  go_on_with_memory(lock);
}

std::unique_ptr<Job> JobQueue::recycled() {
  const auto lock = hand_off_.lock();
  if (recycled_.empty()) return nullptr;
  std::unique_ptr<Job> job = std::move(recycled_.back());
  recycled_.pop_back();
  return job;
}

}  // namespace infeed::detail
