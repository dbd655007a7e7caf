#include "map/job_queue.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "engine/recording/call_watch.h"
#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

constexpr auto kCollectJobs = std::chrono::microseconds(2000);
// The clocks of a watch cost 3 us, so not each of many short jobs is watched.
constexpr std::uint64_t kWatchEvery = 8;

/// Returns the most capacity of a job: enough elements, but no more than 256 KiB of large ones.
std::size_t job_capacity(const TypeInfo& type) {
  constexpr std::size_t kJobBytesMax = 256 * 1024;
  const std::size_t most = kJobBytesMax / std::max<std::size_t>(1, type.size);
  return std::max(chunk_capacity(type), std::min(kChunkElementsMax, most));
}

/// Returns a used job, or a new one, with room for so many elements. It has no more: jobs of one
/// element each would hold 16 to 256 KiB each beside the account.
std::unique_ptr<Job> with_room(std::unique_ptr<Job> used, const TypeInfo& type,
                               std::size_t elements) {
  const std::size_t room = std::min(job_capacity(type), std::bit_ceil(elements));
  if (used != nullptr && used->in.capacity() >= room) return used;
  return std::make_unique<Job>(type, room);
}

/// Returns how many slots of the input may follow in the same job.
std::size_t slots_to_bookmark(const JobQueueOptions& options, std::uint64_t position) {
  if (options.bookmark_every == 0) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(options.bookmark_every - position % options.bookmark_every);
}

}  // namespace

JobQueue::JobQueue(IteratorContext& run, StageCounters& counters,
                   std::shared_ptr<const ElementwiseSpec> spec, Stage& input, std::uint64_t epoch,
                   const JobQueueOptions& options)
    : run_(run),
      counters_(counters),
      options_(options),
      runner_(run, counters, spec, input, epoch),
      jobs_(options.ordered),
      costs_(spec->out_type->size),
      in_hand_(run.memory(), input.type().size),
      threads_(run, hand_off_,
               {.name = spec->name,
                .count = options.parallelism,
                .count_blocking = options.parallelism_blocking},
               {.claim = [this](auto) { return claim(Claimer::thread); },
                .has_work = [this] { return jobs_.has_waiting(); },
                .run = [this](auto& lock, Job& job) { run_unlocked(lock, job); }}),
      driver_(run, counters, hand_off_, ready_, input, input.type(),
              {.name = spec->name + "-driver",
               .room = [this](std::size_t elements_max) { return room(elements_max); },
               .is_wanted = [this] { return is_wanted_ && jobs_.empty(); },
               .take = [this](Chunk& pulled) { cut_into_jobs(pulled); },
               .finish = [this](ErrorPointer failure) { finish(std::move(failure)); }}),
      room_waker_(run.room_wakers(), [this] {  // for the jobs: the driver has its own
        auto lock = hand_off_.lock();
        if (!std::exchange(is_short_of_memory_, false) || hand_off_.stopped()) return;
        if (jobs_.has_waiting()) threads_.wake_one(lock);
      }) {
  counters_.has_own_calls = true;
}

JobQueue::~JobQueue() {
  stop();
  driver_.join();
}

std::size_t JobQueue::jobs_max() const {
  // Four times the running jobs: as many again wait for a free thread, the others for the consumer.
  return 4 * static_cast<std::size_t>(threads_.count()) + 2;
}

/// Returns how many elements may be pulled; 0 while there is no room, or none are wanted.
std::size_t JobQueue::room(std::size_t elements_max) {
  if (elements_max == 0 || jobs_.size() >= jobs_max()) return 0;
  const std::size_t wanted = elements_per_job() * (jobs_max() - jobs_.size());
  for (const std::size_t count : {std::min(wanted, elements_max), std::size_t{1}}) {
    if (in_hand_.try_expect(count)) return count;
  }
  is_short_of_memory_ = has_been_short_of_memory_ = true;
  return is_wanted_ && jobs_.empty() ? 1 : 0;
}

/// Cuts the chunk into jobs. If the function is cheaper than a hand-over, the driver calls it
/// before it adds the job.
void JobQueue::cut_into_jobs(Chunk& pulled) {
  const std::uint64_t bytes = pulled.bytes();
  auto lock = hand_off_.lock();
  in_hand_.hold(pulled, bytes);
  const bool is_cheap = costs_.is_cheap();
  while (true) {
    if (!is_cheap) extend_last(pulled);
    if (pulled.empty()) return;
    const std::size_t elements = is_cheap ? pulled.size() : elements_per_job();
    lock.unlock();
    std::unique_ptr<Job> job = job_of(pulled, elements);
    if (is_cheap && job->in.size() > 0) run_here(*job, /*is_watched=*/false);
    add(std::move(job));
    HandOff::lock_again(lock);
  }
}

/// Moves elements into the last job, if nobody has begun it and it is still too small: large
/// elements come in chunks of a few, each far too small for a job. Nothing is held back for this: a
/// free thread takes the job as it is.
void JobQueue::extend_last(Chunk& pulled) {
  if (jobs_.empty() || pulled.size() == 0) return;
  Job& last = jobs_.last();
  if (last.state != Job::State::waiting || last.in.has_error()) return;
  // Unordered, the job that was added last may be gone. Then the last job has other neighbours.
  if (last.position + last.elements != position_) return;
  if (options_.bookmark_every != 0 && position_ % options_.bookmark_every == 0) return;
  const std::size_t wanted = elements_per_job();
  if (last.in.size() >= wanted) return;
  const std::size_t count = std::min({wanted - last.in.size(), last.in.room(), pulled.size(),
                                      slots_to_bookmark(options_, position_)});
  last.held.take_from(in_hand_.held(), pulled.type().bytes(pulled.front(), count));
  last.in.append_from(pulled, count);
  last.elements += count;
  position_ += count;
}

/// Makes a job of the chunk's next elements, and of its error when no elements follow.
std::unique_ptr<Job> JobQueue::job_of(Chunk& pulled, std::size_t elements) {
  const std::size_t most = slots_to_bookmark(options_, position_);
  const std::size_t taken = std::min({elements, most, pulled.size()});
  std::unique_ptr<Job> job;
  auto lock = hand_off_.lock();
  const std::size_t wanted = std::max(taken, elements_per_job());
  if (!recycled_.empty()) {
    job = std::move(recycled_.back());
    recycled_.pop_back();
  }
  lock.unlock();
  job = with_room(std::move(job), pulled.type(), wanted);
  job->handed_over = 0;
  job->result_bytes = 0;
  job->state = Job::State::waiting;
  job->position = position_;
  job->in.append_from(pulled, taken);
  job->elements = job->in.size();
  const bool error_is_next = pulled.size() == 0 && pulled.has_error();
  if (error_is_next && job->elements < most) job->in.set_error(pulled.take_error());
  position_ += job->in.slots();
  const std::uint64_t bytes = job->in.bytes();
  HandOff::lock_again(lock);
  job->held.take_from(in_hand_.held(), bytes);
  return job;
}

void JobQueue::run_here(Job& job, bool is_watched) {
  if (is_watched) {
    runner_.run_and_watch(job, /*may_stop=*/false);
  } else {
    runner_.run(job, /*may_stop=*/false);
  }
  const auto lock = hand_off_.lock();
  note_cost(job);
  job.state = Job::State::done;
}

void JobQueue::add(std::unique_ptr<Job> job) {
  auto lock = hand_off_.lock();
  const bool consumer_has_nothing = std::exchange(is_wanted_, false) && wake_at_ != 0;
  if (job->in.size() == 0) job->state = Job::State::done;  // it was run, or is only an error
  const bool is_done = job->state == Job::State::done;
  jobs_.add(std::move(job));
  if (is_done) return wake_collector();
  // The executor may be busy for long, perhaps with the consumer itself (a user's function that
  // iterates a dataset of its own). So an idle consumer is woken to run the job.
  if (consumer_has_nothing) ready_.wake_one();
  threads_.wake_one(lock);
}

void JobQueue::finish(ErrorPointer failure) {
  const auto lock = hand_off_.lock();
  in_hand_.held().release();
  hand_off_.finish_locked(std::move(failure));
}

Job* JobQueue::claim(Claimer claimer) {
  Job* const job = jobs_.first_waiting();
  if (job == nullptr || !may_begin(*job, claimer)) return nullptr;
  job->state = Job::State::running;
  ++running_jobs_;
  return job;
}

/// Returns true if there is room for the job's expected results, or if the consumer waits for just
/// this job.
bool JobQueue::may_begin(Job& job, Claimer claimer) {
  const std::uint64_t expected = costs_.result_bytes(job.elements);
  if (job.held.try_grow_to(run_.memory(), job.held.bytes() + expected)) return true;
  is_short_of_memory_ = has_been_short_of_memory_ = true;
  if (claimer == Claimer::consumer) return true;
  const bool consumer_waits = wake_at_ != 0;
  return consumer_waits && (options_.ordered ? &job == &jobs_.first() : running_jobs_ == 0);
}

void JobQueue::run_unlocked(std::unique_lock<std::mutex>& lock, Job& job) {
  lock.unlock();
  const bool waited = runner_.run_and_watch(job, /*may_stop=*/true);
  HandOff::lock_again(lock);
  if (job.in.size() > 0) jobs_.add_rest_of(job);  // it stopped
  job.state = Job::State::done;
  --running_jobs_;
  note_cost(job);
  if (threads_.note_job(waited)) {
    if (options_.is_tuned) note_parallelism();
    driver_.wake();
  }
  wake_collector();
}

void JobQueue::note_cost(const Job& job) {
  StageCounters::add(counters_.work_time.ticks, job.ticks);
  costs_.note(job);
}

void JobQueue::note_parallelism() {
  counters_.note_parallelism(driver_.was_set_serial() ? 0 : threads_.count(), true);
}

/// Wakes the consumer if the jobs that it waits for are ready.
void JobQueue::wake_collector() {
  if (wake_at_ == 0 || jobs_.ready() < wake_at_) return;
  wake_at_ = 0;
  ready_.wake_one();
}

void JobQueue::set_knob(Knob& knob) {
  const auto lock = hand_off_.lock();
  threads_.set_knob(knob);
}

void JobQueue::set_workers(int workers) {
  driver_.set_serial(workers == 0);
  const auto lock = hand_off_.lock();
  if (hand_off_.stopped()) return;
  // In the serial form the remaining jobs are still run by as many threads as before.
  if (workers > 0) threads_.set_count(workers);
  note_parallelism();
  driver_.wake();
}

Pull JobQueue::take(std::unique_ptr<Job>& result, std::size_t want) {
  if (driver_.keeps_input()) return pull_here(result, want);
  auto lock = hand_off_.lock();
  driver_.start();
  std::uint64_t wait_begin = 0;
  std::optional<WaitWatch> watch;
  while (true) {
    if (!hand_off_.goes_on()) return Pull::cancelled;
    result = jobs_.take_done();
    if (result != nullptr) break;
    if (jobs_.empty() && hand_off_.finished()) {
      hand_off_.throw_failure();
      return Pull::end;
    }
    if (jobs_.empty() && driver_.may_be_taken()) {
      driver_.be_taken();
      lock.unlock();
      return pull_here(result, want);
    }
    if (wait_begin == 0) {
      wait_begin = ticks_now();
      watch.emplace(run_.recorder());
    }
    wait(lock);
  }
  if (wait_begin != 0) StageCounters::add(counters_.wait_ticks, ticks_now() - wait_begin);
  if (2 * jobs_.size() <= jobs_max()) driver_.wake();
  return Pull::values;
}

/// Waits until something has changed. If nobody has begun the next job, the consumer runs it.
void JobQueue::wait(std::unique_lock<std::mutex>& lock) {
  const bool is_begun = jobs_.empty() || jobs_.first().state != Job::State::waiting;
  if (!threads_.is_blocking() && !is_begun && running_jobs_ < threads_.count()) {
    return run_unlocked(lock, *claim(Claimer::consumer));
  }
  const bool collects = costs_.is_brief() && jobs_.size() > 2 && !threads_.is_blocking() &&
                        !has_been_short_of_memory_;
  wake_at_ = collects ? std::min<std::size_t>(4, jobs_.size() / 2) : 1;
  is_wanted_ = jobs_.empty();
  if (is_wanted_) driver_.wake();
  // The stage's own threads may have found no room for the job that the consumer now waits for.
  if (threads_.is_blocking() && is_short_of_memory_) threads_.wake_one(lock);
  if (wake_at_ == 1) {
    ready_.wait_once(lock);
  } else {
    ready_.wait_once_for(lock, kCollectJobs);
  }
  wake_at_ = 0;
}

Pull JobQueue::pull_here(std::unique_ptr<Job>& result, std::size_t want) {
  const std::uint64_t begin = ticks_now();
  Chunk& pulled = driver_.chunk();
  std::size_t most = std::min(want, pulled.capacity());
  {
    const auto lock = hand_off_.lock();
    most = std::min(most, elements_per_job());
  }
  most = std::min(most, slots_to_bookmark(options_, position_));
  const Pull got = driver_.pull_here(pulled, most);
  if (got != Pull::values) return got;
  result = job_of(pulled, pulled.size());
  if (result->in.size() > 0) run_here(*result, ++jobs_here_ % kWatchEvery == 0);
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin);
  return Pull::values;
}

void JobQueue::recycle(std::unique_ptr<Job> job) {
  job->out.reset();
  job->held.release();
  auto lock = hand_off_.lock();
  if (recycled_.size() < jobs_max()) recycled_.push_back(std::move(job));
  // Memory was given back, so everybody who had no room looks again.
  if (!std::exchange(is_short_of_memory_, false)) return;
  driver_.wake();
  if (jobs_.has_waiting()) threads_.wake_one(lock);
}

}  // namespace infeed::detail
