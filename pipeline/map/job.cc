#include "map/job.h"

#include <algorithm>
#include <utility>

#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

// The time of a job. A thread switch costs 20 to 40 us. A 10 us function on two cores was compared
// with two plain loops: it reached 0.47 of their speed with jobs of 50 us, 0.85 with 250 us, 0.92
// with 400 us, and 0.95 with 600 us and four times as many jobs as threads. 800 us gain 0.007 more,
// eight times as many jobs 0.01, but they hold 10 MB more of texts.
constexpr double kJobUs = 600;
// The most bytes of a job's inputs or results, if elements are large.
constexpr std::uint64_t kJobBytes = std::uint64_t{1} << 20;
constexpr double kWorthAThreadUs = 20;

}  // namespace

bool Job::hand_over(Chunk& to, std::size_t want) {
  if (out) {
    const std::size_t count =
        failures.empty() ? out->size() : failures.front().results_before - handed_over;
    handed_over += to.append_from(*out, std::min(count, want - to.size()));
  }
  // An error takes a place, too.
  if (to.size() == want) return true;
  if (!failures.empty() && failures.front().results_before == handed_over) {
    to.set_error(std::move(failures.front().error));
    failures.pop_front();
    return true;
  }
  if (to.size() > 0) return true;
  // The input's error, which came after this job's values.
  if (in.has_error()) to.set_error(in.take_error());
  return to.has_error();
}

void JobList::add_rest_of(Job& job) {
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

Job* JobList::first_waiting() {
  for (; waiting_from_ < jobs_.size(); ++waiting_from_) {
    Job& job = *jobs_[waiting_from_];
    if (job.state == Job::State::waiting) return &job;
  }
  return nullptr;
}

bool JobList::has_waiting() const {
  return std::any_of(jobs_.begin() + static_cast<std::ptrdiff_t>(waiting_from_), jobs_.end(),
                     [](const auto& job) { return job->state == Job::State::waiting; });
}

std::size_t JobList::ready() const {
  std::size_t ready = 0;
  for (const auto& job : jobs_) {
    if (job->state == Job::State::done) {
      ++ready;
    } else if (ordered_) {
      break;
    }
  }
  return ready;
}

std::unique_ptr<Job> JobList::take_done() {
  const auto end = ordered_ && !jobs_.empty() ? jobs_.begin() + 1 : jobs_.end();
  const auto done = std::find_if(jobs_.begin(), end,
                                 [](const auto& job) { return job->state == Job::State::done; });
  if (done == end) return nullptr;
  if (static_cast<std::size_t>(done - jobs_.begin()) < waiting_from_) --waiting_from_;
  std::unique_ptr<Job> job = std::move(*done);
  jobs_.erase(done);
  return job;
}

void JobCosts::note(const Job& job) {
  const std::uint64_t elements = std::max<std::uint64_t>(1, job.elements);
  const std::uint64_t each = std::max<std::uint64_t>(1, job.ticks / elements);
  ticks_each_ = ticks_each_ == 0 ? each : (3 * ticks_each_ + each + 2) / 4;
  result_bytes_each_ =
      std::max(job.result_bytes / elements, result_bytes_each_ - result_bytes_each_ / 16);
}

std::size_t JobCosts::elements_per_job(std::uint64_t bytes_each) const {
  if (ticks_each_ == 0) return 1;
  const std::uint64_t most = std::clamp<std::uint64_t>(
      kJobBytes / std::max({bytes_each, result_bytes_each_, std::uint64_t{1}}), 1,
      kChunkElementsMax);
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(ticks_of_us(kJobUs) / ticks_each_, 1, most));
}

bool JobCosts::is_cheap() const {
  return ticks_each_ != 0 && ticks_each_ * kChunkElementsMax < ticks_of_us(kWorthAThreadUs);
}

bool JobCosts::is_brief() const { return ticks_each_ != 0 && ticks_each_ < ticks_of_us(kJobUs); }

}  // namespace infeed::detail
