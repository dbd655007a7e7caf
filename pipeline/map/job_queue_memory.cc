#include <algorithm>
#include <utility>

#include "engine/threads/clock.h"
#include "map/job_queue.h"

// The queue's part of the memory account, and how it goes on while that has no room.
namespace infeed::detail {

/// Returns how many elements the driver may pull; 0 as long as there is no room.
std::size_t JobQueue::elements_with_room(std::size_t elements_max) {
  const std::size_t each = ticks_per_element_ == 0 ? 1 : elements_worth_a_job();
  const std::size_t jobs =
      std::max<std::size_t>(1, jobs_max() - std::min(jobs_max(), jobs_.size()));
  for (const std::size_t count : {std::min(each * jobs, elements_max), std::size_t{1}}) {
    if (in_hand_.try_expect(count)) return count;
  }
  is_short_of_memory_ = has_been_short_of_memory_ = true;
  return is_wanted_ && jobs_.empty() ? 1 : 0;
}

std::size_t JobQueue::wait_for_room(std::size_t elements_max) {
  auto lock = hand_off_.lock();
  std::size_t elements = 0;
  const auto is_admitted = [&] {
    if (hand_off_.stopped()) return true;
    elements = elements_with_room(elements_max);
    return elements != 0;
  };
  if (!is_admitted()) wait_for_consumer(lock, is_admitted);
  return hand_off_.stopped() ? 0 : elements;
}

void JobQueue::hold(Chunk& pulled) {
  const std::uint64_t bytes = pulled.bytes();
  const auto lock = hand_off_.lock();
  in_hand_.hold(pulled, bytes);
}

void JobQueue::hand_to(Job& job) {
  const std::uint64_t bytes = job.in.bytes();
  const auto lock = hand_off_.lock();
  job.held.take_from(in_hand_.held(), bytes);
}

/// Whether there is room for what is expected of it, or the consumer waits for just this job.
bool JobQueue::may_begin(Job& job, Claimer claimer) {
  const std::uint64_t expected = job.elements * result_bytes_each_;
  if (job.held.try_grow_to(run_.memory(), job.held.bytes() + expected)) return true;
  is_short_of_memory_ = has_been_short_of_memory_ = true;
  if (claimer == Claimer::consumer) return true;
  const bool consumer_waits = wake_at_ != 0;
  return consumer_waits && (options_.ordered ? waiting_from_ == 0 : running_jobs_ == 0);
}

bool JobQueue::has_room_for_results(Job& job) {
  return job.held.try_grow_to(run_.memory(), job.result_bytes);
}

/// Holds the job's results so far, and what is left of its input.
void JobQueue::hold_results(Job& job) {
  job.held.set(run_.memory(), job.result_bytes + job.in.bytes());
}

/// A job that stopped is done as far as it came; with the lock held.
void JobQueue::split_off_rest(Job& job) {
  auto rest = std::make_unique<Job>(job.in.type(), job.in.capacity());
  rest->held.take_from(job.held, job.in.bytes());
  rest->in.swap(job.in);
  rest->elements = rest->in.size();
  job.elements -= rest->elements;
  rest->position = job.position + job.elements;
  const auto own = std::find_if(jobs_.begin(), jobs_.end(),
                                [&job](const auto& other) { return other.get() == &job; });
  const auto place = static_cast<std::size_t>(own - jobs_.begin()) + 1;
  jobs_.insert(own + 1, std::move(rest));
  waiting_from_ = std::min(waiting_from_, place);
}

/// Something was given back: whoever had no room looks again.
void JobQueue::go_on_with_memory(std::unique_lock<std::mutex>& lock) {
  if (!std::exchange(is_short_of_memory_, false)) return;
  if (driver_waits_) room_.wake_one();
  if (waiting_from_ < jobs_.size()) start_runners(lock);
}

}  // namespace infeed::detail
