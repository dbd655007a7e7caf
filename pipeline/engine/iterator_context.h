#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/iterate_options.h>
#include <infeed/pipeline/memory_account.h>
#include <infeed/pipeline/stage.h>
#include <infeed/pipeline/statistics.h>

#include "engine/iterator_counters.h"
#include "engine/reader_resources.h"
#include "engine/recording/recorder.h"
#include "engine/seeds/signature.h"
#include "engine/threads/thread_budget.h"
#include "engine/tuning/knobs.h"

namespace infeed {

/// What all stages of one iterator share: cancellation, memory account, executor, counters.
///
/// Invariants: cancelled() only ever goes from false to true. A waker runs at most once at a time
/// and never after its registration is gone.
class IteratorContext {
 public:
  explicit IteratorContext(const IterateOptions& options);

  /// Ends the run at once, as cancel() does, with an error of its own; the first one counts.
  void fail(ErrorPointer error);
  /// What fail() was given, or null.
  ErrorPointer failure() const;

  /// Those of the checkpoint, and those by which kept elements were made, in place of what stages
  /// have drawn; before any stage is made.
  void adopt_seeds(detail::AdoptedSeeds seeds) { adopted_seeds_ = std::move(seeds); }
  const detail::AdoptedSeeds& adopted_seeds() const { return adopted_seeds_; }
  /// Whether these are others than the dataset's own, so that it gives other elements.
  bool adopted_other_seeds() const;
  /// Those, and the seeds by which inner datasets of this node's have drawn: for a checkpoint.
  detail::AdoptedSeeds seeds_for_checkpoint() const;
  void note_inner_draws(const Node& node);
  /// Those of this run so far, from `input` on up to the sources, for a stage that is opened inside
  /// of `inner`; and the same noted in a run that opens none of them.
  detail::InnerDraws inner_draws(const Node& input, const StageContext::Inner& inner) const;
  void note_inner_draws(const detail::InnerDraws& draws, const StageContext::Inner& inner);
  /// What the node's stage draws from in this run.
  Seeds seeds_of(const Node& node) const;

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void cancel();

  /// For CancellationWaker.
  using WakerPlace = CancellationWaker::Place;
  WakerPlace add_waker(std::function<void()> wake);
  void remove_waker(WakerPlace place);

  MemoryAccount& memory() { return memory_; }
  detail::IteratorCounters& counters() { return counters_; }
  const detail::IteratorCounters& counters() const { return counters_; }
  /// The caller's, or one of this iterator's own, made when a stage asks for it first: most
  /// pipelines never do, and reading the CPU quota takes 80 us.
  Executor& executor();
  /// What its concurrency() is or would be, without making one.
  int concurrency();
  /// What the readers of files share.
  detail::ReaderResources& readers() { return readers_; }
  const detail::ReaderResources& readers() const { return readers_; }
  bool is_inline() const { return given_inline_; }
  detail::ThreadBudget& threads() { return threads_; }
  /// What its stages let the tuner set.
  detail::Knobs& knobs() { return knobs_; }
  /// Null unless the iterator records.
  detail::Recorder* recorder() const { return recorder_.get(); }
  /// Also where there is none, since it couldn't be begun.
  RecordingStatus recording() const;
  /// Each thread of a stage begins with it: names the thread and tells the caller.
  void begin_thread(const std::string& name) const;
  const std::function<void(std::string_view)>& on_thread_start() const { return on_thread_start_; }

  /// `context` without what tells the inner datasets of a flat_map apart: of a cache's input, whose
  /// content must not depend on who fills it.
  StageContext shared_by_all(StageContext context) const;

 private:
  int cores();

  detail::AdoptedSeeds adopted_seeds_;  ///< never changed once a stage was made
  mutable std::mutex inner_seeds_mutex_;
  detail::AdoptedSeeds inner_seeds_;
  std::atomic<bool> cancelled_{false};
  MemoryAccount memory_;
  const bool given_inline_;
  mutable std::mutex failure_mutex_;
  ErrorPointer failure_;

  detail::ThreadBudget threads_;
  const std::function<void(std::string_view)> on_thread_start_;

  std::mutex executor_mutex_;
  std::shared_ptr<Executor> executor_;
  int cores_ = 0;  ///< 0: nobody has asked
  detail::ReaderResources readers_{memory_};

  std::mutex wakers_mutex_;
  std::list<std::function<void()>> wakers_;

  detail::IteratorCounters counters_;
  detail::Knobs knobs_;
  RecordingStatus recording_;                   ///< where there is no recorder
  std::unique_ptr<detail::Recorder> recorder_;  ///< last: it uses the others
};

}  // namespace infeed
