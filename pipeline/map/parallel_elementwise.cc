#include <algorithm>

#include "engine/recording/place_log.h"
#include "map/elementwise.h"
#include "map/job_queue.h"

namespace infeed::detail {
namespace {

// Threads for a blocking function with parallelism autotune.
constexpr int kBlockingThreads = 16;

JobQueueOptions queue_options(const ElementwiseSpec& spec, const Executor& executor,
                              std::uint64_t bookmark_every) {
  const bool chosen = spec.parallelism != autotune;
  const int given = static_cast<int>(spec.parallelism.value());
  return {.parallelism = chosen ? given : executor.concurrency(),
          .parallelism_blocking = chosen ? given : kBlockingThreads,
          .ordered = spec.ordered,
          .is_tuned = !chosen,
          .bookmark_every = spec.one_to_one || !spec.ordered ? 0 : bookmark_every};
}

KnobSpec workers_knob(const JobQueueOptions& options) {
  return {.shape = KnobShape::behind,
          .value = options.parallelism,
          .min = options.is_tuned ? 0 : options.parallelism,
          .max = options.parallelism};
}

/// Lets a queue of jobs read the input, and takes the results of the jobs.
class ParallelElementwiseStage final : public Stage, public Bookmarked {
 public:
  ParallelElementwiseStage(const StageContext& context, std::shared_ptr<const ElementwiseSpec> spec,
                           std::unique_ptr<Stage> input, ThreadShare driver_share)
      : Stage(context),
        Bookmarked(context),
        driver_share_(std::move(driver_share)),
        spec_(std::move(spec)),
        input_(std::move(input)),
        options_(queue_options(*spec_, run().executor(), every())),
        queue_(run(), counters(), spec_, *input_, epoch(), options_),
        waker_(run(), [this] { queue_.stop(); }),
        knob_(run().knobs(), counters(), workers_knob(options_),
              [this](std::int64_t workers) { queue_.set_workers(static_cast<int>(workers)); }) {
    counters().has_threads = true;
    counters().note_parallelism(options_.parallelism, options_.is_tuned);
    queue_.set_knob(knob_);
    if (knob_.value() != options_.parallelism) {
      queue_.set_workers(static_cast<int>(knob_.value()));
    }
  }

  ~ParallelElementwiseStage() override { queue_.stop(); }

  Pull do_pull(Chunk& out, std::size_t want) override {
    has_begun_ = true;
    while (true) {
      if (front_ != nullptr && front_->hand_over(out, want)) return Pull::values;
      if (front_ != nullptr) queue_.recycle(std::move(front_));
      const Pull taken = queue_.take(front_, want);
      if (taken != Pull::values) return taken;
      const std::uint64_t every = options_.bookmark_every;
      if (every != 0 && front_->position % every == 0 && position() > 0) {
        note_bookmark(position(), {front_->position});
      }
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (has_begun_ || !spec_->one_to_one) return Stage::do_skip(count, known);
    const std::uint64_t skipped = input_->skip(count, known);
    queue_.note_skipped(skipped);
    return skipped;
  }
  bool go_to(const Bookmark& bookmark, Known known) override {
    const bool notes_some = !spec_->one_to_one && spec_->ordered;
    if (!notes_some || bookmark.inputs.size() != 1 || !bookmark.state.empty()) throw bad_bookmark();
    if (has_begun_ || !pass_over(*input_, bookmark.inputs[0], known)) return false;
    queue_.note_skipped(bookmark.inputs[0]);
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    if (!spec_->ordered)
      return TracedPlace::unknown("an unordered " + spec_->name + " keeps no order");
    if (!spec_->one_to_one) return Stage::do_trace(position);
    return input_->trace(position);
  }

 private:
  const ThreadShare driver_share_;
  const std::shared_ptr<const ElementwiseSpec> spec_;
  const std::unique_ptr<Stage> input_;
  const JobQueueOptions options_;
  JobQueue queue_;
  CancellationWaker waker_;
  std::unique_ptr<Job> front_;
  bool has_begun_ = false;
  Knob knob_;
};

}  // namespace

std::unique_ptr<Stage> make_parallel_elementwise(const StageContext& context,
                                                 std::shared_ptr<const ElementwiseSpec> spec,
                                                 std::unique_ptr<Stage> input, ThreadShare driver) {
  return std::make_unique<ParallelElementwiseStage>(context, std::move(spec), std::move(input),
                                                    std::move(driver));
}

}  // namespace infeed::detail
