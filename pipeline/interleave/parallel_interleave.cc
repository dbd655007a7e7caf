#include "interleave/parallel_interleave.h"

#include <algorithm>
#include <mutex>

#include "engine/iterator_context.h"
#include "interleave/cycle_stage.h"
#include "interleave/inner_readers.h"

namespace infeed::detail {
namespace {

int readers_wanted(const InterleaveSpec& spec, int concurrency) {
  if (spec.parallelism != autotune) return spec.parallelism;
  const std::uint64_t threads = 2 * static_cast<std::uint64_t>(concurrency);
  return static_cast<int>(std::min(spec.cycle_length, threads));
}

// The most readers: more have brought nothing on a single machine so far.
constexpr std::uint64_t kReadersMax = 64;

KnobSpec readers_knob(const InterleaveSpec& spec, int threads) {
  const bool is_tuned = spec.parallelism == autotune;
  const auto most = static_cast<int>(std::min(spec.cycle_length, kReadersMax));
  return {.shape = KnobShape::inner,
          .value = threads,
          .min = is_tuned ? 1 : threads,
          .max = is_tuned ? std::max(most, threads) : threads};
}

/// Skips as the serial form does before its threads start (for a resume). Then the threads take the
/// open inner datasets over.
class ParallelInterleaveStage final : public CycleStage {
 public:
  ParallelInterleaveStage(const StageContext& context, const InterleaveSpec& spec,
                          const TypeInfo& outer_type, std::unique_ptr<Stage> input,
                          InterleaveThreads threads)
      : CycleStage(context, spec, spec.ordered, outer_type, std::move(input)),
        share_(std::move(threads)),
        threads_(run(), counters(), type(), outer_type, outer_, opener_,
                 {.cycle_length = spec.cycle_length,
                  .threads = share_.readers.grow(readers_wanted(spec, run().concurrency())),
                  .ordered = spec.ordered}),
        waker_(run(), [this] { threads_.stop(); }),
        knob_(run().knobs(), counters(), readers_knob(spec, share_.readers.count()),
              [this](std::int64_t) { set_readers(); }) {
    counters().has_threads = true;
    counters().note_parallelism(share_.readers.count(), spec.parallelism == autotune);
    if (spec.parallelism == autotune) set_readers();  // an earlier pass may have ended with others
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (!threads_.started()) {
      cycle_.for_each_open_slot(
          [this](std::size_t slot) { threads_.adopt(slot, std::move(serial_.stream(slot))); });
      threads_.start();
    }
    return pull_cycle(threads_, out, want);
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (threads_.started()) return Stage::do_skip(count, known);
    return cycle_.skip(serial_, count, known, run());
  }

 private:
  /// Sets the readers as the knob says now. The tuner may call it before the stage is made.
  void set_readers() {
    const std::lock_guard lock(share_mutex_);
    const int wanted = static_cast<int>(knob_.value());
    const int threads = std::min(wanted, share_.readers.grow(wanted));
    counters().note_parallelism(threads, true);
    threads_.set_workers(threads);
  }

  std::mutex share_mutex_;
  InterleaveThreads share_;
  InnerReaders threads_;
  CancellationWaker waker_;
  Knob knob_;
};

}  // namespace

std::unique_ptr<Stage> make_parallel_interleave(const StageContext& context,
                                                const InterleaveSpec& spec,
                                                const TypeInfo& outer_type,
                                                std::unique_ptr<Stage> input,
                                                InterleaveThreads threads) {
  return std::make_unique<ParallelInterleaveStage>(context, spec, outer_type, std::move(input),
                                                   std::move(threads));
}

}  // namespace infeed::detail
