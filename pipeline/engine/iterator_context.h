#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/memory_account.h>
#include <infeed/pipeline/stage.h>
#include <infeed/pipeline/statistics.h>
#include <infeed/records/spare_blocks.h>
#include <infeed/records/url_options.h>

#include "engine/signature.h"
#include "engine/threads/clock.h"

namespace infeed {
/// What all stages of one iterator share: cancellation, memory account, executor, counters.
///
/// Invariants: cancelled() only ever goes from false to true. A waker runs at most once at a time
/// and never after its registration is gone. Counters live as long as the context, so stages of a
/// later pass find those of the earlier ones.
class IteratorContext {
 public:
  IteratorContext(std::uint64_t memory_bytes_max, std::shared_ptr<Executor> executor)
      : memory_(memory_bytes_max),
        given_inline_(executor != nullptr && executor->concurrency() == 0),
        executor_(std::move(executor)) {}

  /// Ends the run at once, as cancel() does, with an error of its own; the first one counts.
  void fail(ErrorPointer error);
  /// What fail() was given, or null.
  ErrorPointer failure() const;

  /// Those of the checkpoint, in place of what stages have drawn; before any stage is made.
  void adopt_seeds(detail::AdoptedSeeds seeds) { adopted_seeds_ = std::move(seeds); }
  const detail::AdoptedSeeds& adopted_seeds() const { return adopted_seeds_; }
  /// Whether these are others than the dataset's own, so that it gives other elements.
  bool adopted_other_seeds() const;
  /// Those, and the seeds by which inner datasets of this node's have drawn: for a checkpoint.
  detail::AdoptedSeeds seeds_for_checkpoint() const;
  void note_inner_draws(const Node& node);
  /// What the node's stage draws from in this run.
  Seeds seeds_of(const Node& node) const;

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void cancel();

  /// Calls `wake` when somebody cancels; for stages that wait. Held by the stage.
  class WakerRegistration {
   public:
    WakerRegistration(IteratorContext& run, std::function<void()> wake);
    ~WakerRegistration();
    WakerRegistration(const WakerRegistration&) = delete;
    WakerRegistration& operator=(const WakerRegistration&) = delete;

   private:
    IteratorContext& run_;
    std::list<std::function<void()>>::iterator place_;
  };

  MemoryAccount& memory() { return memory_; }
  /// The caller's, or one of this iterator's own, made when a stage asks for it first: most
  /// pipelines never do, and reading the CPU quota takes 80 us.
  Executor& executor();
  /// Of the readers of record files, one after the other; made when it is asked for first. Null
  /// where the account has no room for it.
  std::shared_ptr<SpareBlocks> spare_blocks();
  /// At the end of the run.
  void drop_spare_blocks();
  /// Of the readers of files by URL.
  const std::shared_ptr<SharedCredentials>& shared_credentials() const { return credentials_; }
  bool is_inline() const { return given_inline_; }

  /// A stage hands over what it has once this much time went by: 100 us.
  std::uint64_t hand_over_ticks() const { return hand_over_ticks_; }

  /// True while a resume passes over elements among which no error was seen the first time: then
  /// batch may multiply instead of looking at each element.
  /// Holds for the thread that resumes only: drivers that a resume has started already look at
  /// elements that nobody has seen before.
  bool assume_no_errors() const {
    return resuming_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  void set_assume_no_errors(bool assumed) {
    resuming_thread_.store(assumed ? std::this_thread::get_id() : std::thread::id(),
                           std::memory_order_relaxed);
  }

  /// The counters of the stage `name` that `consumer` pulls; made when they are asked for first.
  detail::StageCounters& counters_of(const std::string& name, detail::StageCounters* consumer,
                                     std::size_t ordinal);
  PipelineStatistics statistics() const;
  /// A number that grows whenever a stage hands something over or a user's function returns.
  std::uint64_t progress() const;
  /// Elements that a resume has looked at so far: as many as its busiest stage handed over.
  std::uint64_t elements_replayed() const;
  /// "the consumer waits for prefetch, prefetch waits for map, map is busy in its own code".
  std::string who_waits_for_whom() const;
  /// `scope` without what tells the inner datasets of a flat_map apart: of a cache's input, whose
  /// content must not depend on who fills it.
  StageContext shared_by_all(StageContext scope) const;
  /// Errors since the start, each counted once however many stages it passes. Those that a cache
  /// hands out arose in another run perhaps, so what one stage handed over counts as well, and so
  /// do those that nobody hands over since a cache hides them. Where there were some, a resume
  /// looks at each element.
  std::uint64_t errors_seen() const;
  /// Those that arose in the stages before `consumer`, or that caches there hide.
  std::uint64_t errors_before(const detail::StageCounters& consumer) const;
  /// A cache gives what its input made with so many errors on the way.
  void note_hidden_errors(std::uint64_t errors);

 private:
  struct Entry {
    std::size_t ordinal;
    detail::StageCounters counters;
  };

  template <class Counts>
  std::uint64_t errors_where(const Counts& counts) const;

  detail::AdoptedSeeds adopted_seeds_;  ///< never changed once a stage was made
  mutable std::mutex inner_seeds_mutex_;
  detail::AdoptedSeeds inner_seeds_;
  std::atomic<bool> cancelled_{false};
  std::atomic<std::thread::id> resuming_thread_{};
  std::atomic<std::uint64_t> hidden_errors_{0};
  MemoryAccount memory_;
  const bool given_inline_;
  mutable std::mutex failure_mutex_;
  ErrorPointer failure_;

  std::mutex executor_mutex_;
  std::shared_ptr<Executor> executor_;
  const std::shared_ptr<SharedCredentials> credentials_ = share_credentials();
  std::mutex spare_blocks_mutex_;
  std::shared_ptr<SpareBlocks> spare_blocks_;  // what it may keep is in the account
  const std::uint64_t hand_over_ticks_ = detail::ticks_of_us(100);

  std::mutex wakers_mutex_;
  std::list<std::function<void()>> wakers_;

  mutable std::mutex counters_mutex_;
  std::list<Entry> counters_;
};

}  // namespace infeed
