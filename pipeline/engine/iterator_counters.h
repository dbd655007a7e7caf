#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>

#include <infeed/pipeline/statistics.h>

#include "engine/stage_counters.h"

namespace infeed::detail {

/// What the stages of one iterator count, by their places.
///
/// Invariants: counters live as long as this, so stages of a later pass find those of the earlier
/// ones. The list is guarded by the mutex; a stage's own counters have one writer and any readers.
class IteratorCounters {
 public:
  /// The counters of the stage `name` that `consumer` pulls; made when they are asked for first.
  StageCounters& of_stage(const std::string& name, StageCounters* consumer, std::size_t ordinal);
  PipelineStatistics statistics() const;
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
  /// Those that arose in the stages before `consumer`, or that caches there hide.
  std::uint64_t errors_before(const StageCounters& consumer) const;
  /// A cache gives what its input made with so many errors on the way.
  void note_hidden_errors(std::uint64_t errors);

 private:
  struct Entry {
    std::size_t ordinal;
    StageCounters counters;
  };

  template <class Counts>
  std::uint64_t errors_where(const Counts& counts) const;

  std::atomic<std::uint64_t> hidden_errors_{0};
  mutable std::mutex counters_mutex_;
  std::list<Entry> counters_;
};

}  // namespace infeed::detail
