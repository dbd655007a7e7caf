#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/pipeline/stage.h>
#include <infeed/pipeline/statistics.h>

#include "engine/stage_counters.h"

namespace infeed::detail {

/// The counters of one iterator's stages, by the stages' places in the pipeline.
///
/// Invariants: counters live as long as this object, so the stages of a later pass find those of
/// earlier passes. The mutex guards the list and the maps. A stage's own counters are atomic: any
/// thread may add to them and read them.
class IteratorCounters {
 public:
  /// Returns the counters of the node's stage that `consumer` pulls. The first call makes those of
  /// all stages before it, too, so that labels never depend on which stage is opened when.
  StageCounters& of_stage(const Node& node, StageCounters* consumer, std::size_t ordinal);
  PipelineStatistics statistics(std::vector<const StageCounters*>* shown = nullptr) const;
  /// Returns a number that grows whenever a stage hands something over or a user's function
  /// returns.
  std::uint64_t progress() const;
  /// Returns how many elements a resume has looked at so far: those of its busiest stage.
  std::uint64_t elements_replayed() const;
  /// Returns "the consumer waits for prefetch; prefetch waits for map; map is inside its own code".
  std::string who_waits_for_whom() const;
  /// Returns the errors since the start, each counted once however many stages it passes. Errors
  /// that a cache hands out may have arisen in another run, so the result is at least the most that
  /// one stage handed over. It is also at least the most that a cache hides. If it is not 0, a
  /// resume looks at each element.
  std::uint64_t errors_seen() const;
  /// Returns the labels of all stages that are described, from the consumer's side to the sources.
  std::vector<std::string> labels() const;
  /// Returns the counters of a described stage; null if it isn't there.
  const StageCounters* find(const Node& node, const StageCounters* consumer,
                            std::size_t ordinal) const;
  /// Returns errors_seen() of the stages before `consumer` only. Those that any cache hides count.
  std::uint64_t errors_before(const StageCounters& consumer) const;
  /// Says that a stage has left out an error that may pass (passing_error.h), or put something in its
  /// place.
  void note_passing_left_out(StageCounters& counters) {
    StageCounters::add(counters.passing_left_out, 1);
    StageCounters::add(passing_left_out_, 1);
  }
  /// Returns how many errors that may pass the stages before `consumer` have left out so far. Asked
  /// behind a pull, it is 0 if none is missing among the elements until there.
  std::uint64_t passing_left_out_before(const StageCounters& consumer) const;
  struct HandedOver {
    std::uint64_t elements;
    std::uint64_t errors;  ///< among the elements
  };
  /// Returns the counts of the root, of its first input, of that one's first input, and so on.
  std::vector<HandedOver> handed_over() const;
  /// Says that a cache gives elements whose input had so many errors while it was filled.
  void note_hidden_errors(std::uint64_t errors);

  /// Says that the consumer asks for an element, or resumes. The first call begins the time that
  /// the statistics' shares refer to.
  void note_begin() {
    if (begin_ticks_.load(std::memory_order_relaxed) == 0) begin();
  }
  /// Ends that time, since nothing more will come.
  void note_end();
  /// Returns how long the consumer has waited in the root's pulls, the current one included, or at
  /// the queue of ready elements.
  std::uint64_t consumer_wait_ticks() const;
  /// Says that from now on a thread pulls the root, for a consumer that asks without waiting.
  /// Returns the counters of the queue between them, which is no stage.
  StageCounters& begin_ready_queue();
  /// Says that no thread does that after all: the consumer goes on to pull the root.
  void end_ready_queue() { has_ready_queue_.store(false, std::memory_order_release); }
  /// Adds time that the consumer waited in a resume.
  void add_resume_ticks(std::uint64_t ticks) { StageCounters::add(resume_ticks_, ticks); }

 private:
  struct Entry {
    std::size_t ordinal = 0;
    int number = 0;  ///< among the stages of its kind, counted from the sources; 0: not yet known
    bool is_open = false;
    StageCounters counters;
  };

  void begin();
  Entry& add_tree(const Node& node, StageCounters* consumer, std::size_t ordinal,
                  const StageCounters* outer);
  void label_new_entries();
  void add_stages(PipelineStatistics& result, std::vector<const StageCounters*>& shown) const;
  void fill_times(PipelineStatistics& result) const;

  template <class Counts>
  std::uint64_t errors_where(const Counts& counts) const;

  std::atomic<std::uint64_t> hidden_errors_{0};
  std::atomic<std::uint64_t> passing_left_out_{0};  ///< by all stages; nearly always 0
  // 0 until note_begin() or note_end().
  std::atomic<std::uint64_t> begin_ticks_{0};
  std::atomic<std::uint64_t> begin_cpu_ns_{0};
  std::atomic<std::uint64_t> end_ticks_{0};
  std::atomic<std::uint64_t> end_cpu_ns_{0};
  std::atomic<std::uint64_t> resume_ticks_{0};
  StageCounters ready_queue_;
  std::atomic<bool> has_ready_queue_{false};
  std::atomic<std::uint64_t> waited_before_ticks_{0};  ///< consumer's wait before the ready queue
  mutable std::mutex counters_mutex_;
  std::list<Entry> counters_;  ///< each behind its consumer
  /// The entries by consumer, ordinal and kind, whose text is the entry's own.
  std::map<std::tuple<const StageCounters*, std::size_t, std::string_view>, Entry*> by_place_;
  /// How many numbered stages of a kind the description of an `outer` has.
  std::map<std::pair<const StageCounters*, std::string_view>, int> kinds_;
};

/// Counts the errors among elements that the root passes over, by the first stage from the consumer's
/// side that makes these elements. A stage behind it, such as map, calls no function for them; an error
/// would have been in its element's place.
class SkippedErrors {
 public:
  /// Begins to count.
  explicit SkippedErrors(const IteratorCounters& counters)
      : counters_(counters), before_(counters.handed_over()) {}
  /// Returns how many of the elements that the root has passed over were errors: at most as many. If it
  /// was none, the first stage found may have run ahead, behind a resume.
  std::uint64_t count(std::uint64_t passed_over) const;

 private:
  const IteratorCounters& counters_;
  const std::vector<IteratorCounters::HandedOver> before_;
};

/// Counts the time while it lives as the consumer's wait for a resume.
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
