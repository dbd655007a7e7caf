#include <algorithm>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/recording/place_log.h"
#include "engine/threads/clock.h"
#include "engine/threads/driver.h"
#include "map/elementwise.h"
#include "map/job_queue.h"

namespace infeed::detail {
namespace {

// For a blocking function and parallelism autotune.
constexpr int kBlockingThreads = 16;

JobQueueOptions queue_options(const ElementwiseSpec& spec, const Executor& executor) {
  const bool chosen = spec.parallelism != autotune;
  const int given = static_cast<int>(spec.parallelism.value());
  return {.parallelism = chosen ? given : executor.concurrency(),
          .parallelism_blocking = chosen ? given : kBlockingThreads,
          .ordered = spec.ordered,
          .is_tuned = !chosen};
}

KnobSpec workers_knob(const JobQueueOptions& options) {
  return {.shape = KnobShape::behind,
          .value = options.parallelism,
          .min = options.is_tuned ? 0 : options.parallelism,
          .max = options.parallelism};
}

/// A driver thread cuts the input into jobs; the consumer takes their results.
class ParallelElementwiseStage final : public Stage {
 public:
  ParallelElementwiseStage(const StageContext& context, std::shared_ptr<const ElementwiseSpec> spec,
                           const TypeInfo& in_type, std::unique_ptr<Stage> input,
                           ThreadShare driver_share)
      : Stage(context),
        driver_share_(std::move(driver_share)),
        spec_(std::move(spec)),
        in_type_(in_type),
        input_(std::move(input)),
        queue_(run(), counters(), spec_, *input_, epoch(), queue_options(*spec_, run().executor())),
        waker_(run(), [this] { queue_.stop(); }),
        knob_(run().knobs(), counters(), workers_knob(queue_options(*spec_, run().executor())),
              [this](std::int64_t workers) { queue_.set_workers(static_cast<int>(workers)); }) {
    counters().has_threads = true;
    const JobQueueOptions options = queue_options(*spec_, run().executor());
    counters().note_parallelism(options.parallelism, options.is_tuned);
    queue_.set_knob(knob_);
    if (knob_.value() != options.parallelism) {
      queue_.set_workers(static_cast<int>(knob_.value()));
    }
  }

  ~ParallelElementwiseStage() override { queue_.stop(); }

  Pull do_pull(Chunk& out, std::size_t want) override {
    has_begun_ = true;
    while (true) {
      if (front_ != nullptr && hand_over(out, want)) return Pull::values;
      if (front_ != nullptr) queue_.recycle(std::move(front_));
      if (has_input_ && !queue_.turn().is_serial()) {
        has_input_ = false;
        queue_.turn().give_back();
      }
      if (!has_input_) {
        if (!queue_.turn().is_serial()) driver_.start(queue_.turn(), [this] { drive(); });
        const Pull taken = queue_.take(front_);
        if (taken != Pull::values) return taken;
        has_input_ = front_ == nullptr;
      }
      if (has_input_) {
        const Pull pulled = pull_here(want);
        if (pulled != Pull::values) return pulled;
      }
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (has_begun_ || !spec_->one_to_one) return Stage::do_skip(count, known);
    const std::uint64_t skipped = input_->skip(count, known);
    position_ += skipped;
    return skipped;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    if (!spec_->ordered)
      return TracedPlace::unknown("an unordered " + spec_->name + " keeps no order");
    if (!spec_->one_to_one) return Stage::do_trace(position);
    return input_->trace(position);
  }

 private:
  /// False when the job in front has nothing left.
  bool hand_over(Chunk& out, std::size_t want) {
    while (!front_->out.empty()) {
      Chunk& chunk = front_->out.front();
      out.append_from(chunk, want - out.size());
      // An error takes a place too.
      if (chunk.size() > 0 || out.size() == want) return true;
      if (chunk.has_error()) out.set_error(chunk.take_error());
      front_->out.pop_front();
      if (out.has_error()) return true;
      if (out.size() > 0) return true;
    }
    // The error that came from the input behind this job's values.
    if (front_->in.has_error()) {
      out.set_error(front_->in.take_error());
      return true;
    }
    return false;
  }

  /// In the serial form: the next job, done.
  Pull pull_here(std::size_t want) {
    const std::uint64_t begin = ticks_now();
    const Pull pulled =
        input_->pull(chunk_, std::min({want, chunk_.capacity(), queue_.elements_per_job()}));
    if (pulled == Pull::end) {
      queue_.finish();
      has_input_ = false;
      queue_.turn().give_back();
    }
    if (pulled != Pull::values) return pulled;
    front_ = job_of(chunk_, chunk_.size());
    if (front_->in.size() > 0) queue_.run_here(*front_);
    StageCounters::add(counters().wait_ticks, ticks_now() - begin);
    return Pull::values;
  }

  /// Of the chunk's next elements, and of the error behind them when there are no more.
  std::unique_ptr<Job> job_of(Chunk& chunk, std::size_t elements) {
    std::unique_ptr<Job> job = queue_.recycled();
    if (job == nullptr) job = std::make_unique<Job>(in_type_, job_capacity());
    job->out.clear();
    job->result_bytes = 0;
    job->state = Job::State::waiting;
    job->position = position_;
    job->in.append_from(chunk, elements);
    job->elements = job->in.size();
    if (chunk.size() == 0 && chunk.has_error()) job->in.set_error(chunk.take_error());
    position_ += job->in.slots();
    return job;
  }

  void drive() {
    run().begin_thread(spec_->name + "-driver");
    Chunk chunk(in_type_);
    ErrorPointer failure;
    try {
      while (true) {
        if (!queue_.turn().driver_goes_on()) return;
        const std::size_t want = queue_.wait_for_room(chunk.capacity());
        if (want == 0) return;
        const Pull pulled = input_->pull(chunk, want);
        if (pulled == Pull::cancelled) return queue_.stop();
        if (pulled == Pull::end) break;
        queue_.hold(chunk);
        if (!cut_into_jobs(chunk)) return;
      }
    } catch (...) {
      failure = terminal_error();
    }
    queue_.finish(std::move(failure));
  }

  bool cut_into_jobs(Chunk& chunk) {
    const bool cheap = queue_.is_cheap();
    while (!chunk.empty()) {
      if (!cheap && chunk.size() > 0) queue_.extend_last(chunk, position_);
      if (chunk.empty()) break;
      std::unique_ptr<Job> job = job_of(chunk, cheap ? chunk.size() : queue_.elements_per_job());
      queue_.hand_to(*job);
      if (cheap && job->in.size() > 0) queue_.run_here(*job);
      if (!queue_.add(std::move(job))) return false;
    }
    return true;
  }

  /// Room for what is worth a job, but no more than 256 KiB of large elements.
  std::size_t job_capacity() const {
    constexpr std::size_t kJobBytesMax = 256 * 1024;
    return std::max(
        chunk_capacity(in_type_),
        std::min(kChunkElementsMax, kJobBytesMax / std::max<std::size_t>(1, in_type_.size)));
  }

  const ThreadShare driver_share_;
  const std::shared_ptr<const ElementwiseSpec> spec_;
  const TypeInfo& in_type_;
  const std::unique_ptr<Stage> input_;
  std::uint64_t position_ = 0;  ///< of whoever has the input
  JobQueue queue_;
  CancellationWaker waker_;
  std::unique_ptr<Job> front_;
  Chunk chunk_{in_type_};  ///< of the serial form
  bool has_begun_ = false;
  bool has_input_ = false;  ///< the consumer's thread, as the serial form wants it
  Knob knob_;
  DriverThread driver_;  ///< last: it uses the others
};

}  // namespace

std::unique_ptr<Stage> make_parallel_elementwise(const StageContext& context,
                                                 std::shared_ptr<const ElementwiseSpec> spec,
                                                 const TypeInfo& in_type,
                                                 std::unique_ptr<Stage> input, ThreadShare driver) {
  return std::make_unique<ParallelElementwiseStage>(context, std::move(spec), in_type,
                                                    std::move(input), std::move(driver));
}

}  // namespace infeed::detail
