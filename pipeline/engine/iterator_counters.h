#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>

#include <infeed/pipeline/stage.h>
#include <infeed/pipeline/statistics.h>

#include "engine/stage_counters.h"

namespace infeed::detail {

/// What the stages of one iterator count, by their places.
///
/// Invariants: counters live as long as this, so stages of a later pass find those of the earlier
/// ones. The list is guarded by the mutex; a stage's own counters have one writer and any readers.
class IteratorCounters {
 public:
  /// The counters of the node's stage that `consumer` pulls. When they are asked for first, they
  /// are made for all stages before it, too, so that labels never depend on what is opened when.
  StageCounters& of_stage(const Node& node, StageCounters* consumer, std::size_t ordinal);
  PipelineStatistics statistics(std::vector<const StageCounters*>* shown = nullptr) const;
  /// A number that grows whenever a stage hands something over or a user's function returns.
  std::uint64_t progress() const;
  /// Elements that a resume has looked at so far: as many as its busiest stage handed over.
  std::uint64_t elements_replayed() const;
  /// "the consumer waits for prefetch, prefetch waits for map, map is busy in its own code".
  std::string who_waits_for_whom() const;
  /// Errors since the start, each counted once however many stages it passes. Those that a cache
  /// hands out arose in another run perhaps, so what one stage handed over counts as well, and so
  /// do those that nobody hands over since a cache hides them. Where there were some, a resume
  /// looks at each element.
  std::uint64_t errors_seen() const;
  /// Of all stages that are described, from the consumer's side on.
  std::vector<std::string> labels() const;
  /// Those that arose in the stages before `consumer`, or that caches there hide.
  std::uint64_t errors_before(const StageCounters& consumer) const;
  /// A cache gives what its input made with so many errors on the way.
  void note_hidden_errors(std::uint64_t errors);

  /// The consumer asks for an element, or resumes: the first time begins what shares are of.
  void note_begin() {
    if (begin_ticks_.load(std::memory_order_relaxed) == 0) begin();
  }
  /// Nothing more will come: that time ends.
  void note_end();
  /// What the consumer waited for in the root's pulls, the one under way included, or at the queue
  /// of those that are ready.
  std::uint64_t consumer_wait_ticks() const;
  /// From now on a thread pulls the root for a consumer that asks without waiting. What the queue
  /// between them counts, which is no stage.
  StageCounters& begin_ready_queue();
  /// It waited for so long in a resume, too.
  void add_resume_ticks(std::uint64_t ticks) { StageCounters::add(resume_ticks_, ticks); }

 private:
  struct Entry {
    std::size_t ordinal = 0;
    int number = 0;  ///< among those of its kind, from the sources on
    bool is_open = false;
    StageCounters counters;
  };

  void begin();
  Entry* find(const std::string& name, const StageCounters* consumer, std::size_t ordinal);
  Entry& add_tree(const Node& node, StageCounters* consumer, std::size_t ordinal,
                  const StageCounters* outer);
  void label_new_entries();
  int count_of_kind(const StageCounters& counters) const;
  void add_stages(PipelineStatistics& result, std::vector<const StageCounters*>& shown) const;
  void fill_times(PipelineStatistics& result) const;
  StageStatistics statistics_of(const StageCounters& counters) const;

  template <class Counts>
  std::uint64_t errors_where(const Counts& counts) const;

  std::atomic<std::uint64_t> hidden_errors_{0};
  // 0 until they are known.
  std::atomic<std::uint64_t> begin_ticks_{0};
  std::atomic<std::uint64_t> begin_cpu_ns_{0};
  std::atomic<std::uint64_t> end_ticks_{0};
  std::atomic<std::uint64_t> end_cpu_ns_{0};
  std::atomic<std::uint64_t> resume_ticks_{0};
  StageCounters ready_queue_;
  std::atomic<bool> has_ready_queue_{false};
  std::atomic<std::uint64_t> waited_before_ticks_{0};  ///< there was a ready queue
  mutable std::mutex counters_mutex_;
  std::list<Entry> counters_;
};

/// While it lives the consumer resumes, and waits for that.
class ResumeWait {
 public:
  explicit ResumeWait(IteratorCounters& counters);
  ~ResumeWait();
  ResumeWait(const ResumeWait&) = delete;
  ResumeWait& operator=(const ResumeWait&) = delete;

 private:
  IteratorCounters& counters_;
  const std::uint64_t begin_ticks_;
  const std::uint64_t pulled_before_ticks_;
};

}  // namespace infeed::detail
