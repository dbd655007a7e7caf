#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/pipeline/stage_traits.h>

/// Why: "which stage is slow, and what shall I do?" must be answerable at any moment of a running
/// pipeline. Every pull is counted and timed where stages meet (no stage does it itself); reading
/// the figures disturbs nobody.
///
///     auto iterator = dataset.iterate();
///     std::puts(iterator.statistics().table().c_str());  // from any thread, at any time
///
/// pipeline/README.md shows a table and says how to read it.
namespace infeed {

/// The stage that figures are about.
struct StageIdentity {
  std::string name = {};        ///< its kind: "map"
  std::string given_name = {};  ///< StageName; empty: none
  /// The stage's unique name: "map[1] 'augment'". Stages of one kind are numbered from the
  /// sources on, where there are several.
  std::string label = {};
  /// "prefetch < batch < map[2]": from the consumer's side to this stage. Beyond 64 stages it
  /// begins with the number of those left out.
  std::string path = {};
  int depth = 0;  ///< 0 is the stage next to the consumer
  // Other stages, as indices into PipelineStatistics::stages; -1 for none.
  int consumer = -1;  ///< the one that pulls it
  int inside = -1;    ///< the flat_map or interleave in whose inner datasets it is
};

/// One stage's figures since the iterator was made. All passes of a repeat add up, and so do all
/// inner datasets of a flat_map or interleave. Times of several threads are summed up, so they may
/// exceed the time that went by. A call that is under way counts once it returns.
struct StageStatistics : StageIdentity {
  std::uint64_t elements = 0;  ///< handed over, errors included
  std::uint64_t errors = 0;    ///< part of elements; one that passes several stages counts in each
  std::uint64_t bytes = 0;     ///< handed over, with all that elements own; from samples
  std::uint64_t pulls = 0;     ///< how often it was asked

  std::uint64_t total_ns = 0;  ///< inside it and the stages that it pulls
  std::uint64_t work_ns = 0;   ///< inside it alone; all its threads' if it runs ahead
  /// Parts of work_ns on a core and off it: blocked is waiting for storage, a lock, a sleep, or a
  /// core that others have. They are measured on samples that cost 1/400 of the time at most; empty
  /// without samples.
  std::optional<std::uint64_t> cpu_ns = std::nullopt;
  std::optional<std::uint64_t> blocked_ns = std::nullopt;
  std::uint64_t wait_ns = 0;  ///< its consumer waited for it (stages that run ahead)
  std::uint64_t full_ns = 0;  ///< its thread waited for room (stages that run ahead)

  bool runs_ahead = false;               ///< its input runs in other threads than its consumer
  int parallelism = 1;                   ///< threads that work for it at the same time, at most
  std::uint64_t queue_elements_max = 0;  ///< the most that a prefetch holds
  std::uint64_t queue_bytes_max = 0;
  bool is_tuned = false;                ///< autotune chose parallelism or the queue
  std::uint64_t buffered_elements = 0;  ///< held right now
  std::uint64_t buffered_bytes = 0;

  StageTraits traits = {};
  std::vector<std::uint64_t> counts = {};  ///< those that only its kind has, as traits.counts
  /// Returns a count by its name, "dropped_records"; 0 if the stage's kind doesn't have it.
  std::uint64_t count(std::string_view own) const;
};

struct PipelineStatistics {
  std::vector<StageStatistics> stages = {};  ///< from the consumer's side to the sources
  /// Since the first next() (or the resume) until now or the end of the stream.
  std::uint64_t elapsed_ns = 0;
  std::uint64_t consumer_wait_ns = 0;  ///< part of elapsed_ns: the consumer was inside next()
  std::uint64_t process_cpu_ns = 0;    ///< sum of all threads of the process in that time
  int cores = 1;                       ///< usable by the process
  std::string recording_problem = {};  ///< RecordingStatus::problem

  /// Says in one sentence what bounds the rate and what to do about it, or that these figures can't
  /// tell. Depends on nothing but the figures.
  std::string verdict() const;
  /// Returns all of it for a person to read, 100 columns wide.
  std::string table() const;
};

}  // namespace infeed
