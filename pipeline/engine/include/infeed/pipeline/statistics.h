#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Why: "which stage is slow?" must be answerable at any moment of a running pipeline. Every pull
/// is counted and timed where stages meet (no stage does it itself); reading a snapshot disturbs
/// nobody.
namespace infeed {

/// One stage's figures since the iterator was made; all passes of a repeat add up in one place.
struct StageStatistics {
  std::string path;  ///< "prefetch < batch(1024) < map": from the consumer's side to this stage
  std::string name;
  int depth = 0;               ///< 0 is the stage next to the consumer
  std::uint64_t elements = 0;  ///< handed over, errors included
  std::uint64_t errors = 0;    ///< of them; one that passes several stages counts in each
  /// Records that no element and no error stands for, where an index beside the file knows their
  /// number: behind a damaged one (DamagePolicy::fail), or in ranges that were passed over
  /// (skip_and_resynchronise).
  std::uint64_t dropped_records = 0;
  /// The bytes that were given up for both reasons, the damaged ones included; in a compressed file
  /// decompressed ones, where their number is known.
  std::uint64_t dropped_bytes = 0;
  std::uint64_t pulls = 0;         ///< how often it was asked
  std::uint64_t total_ns = 0;      ///< inside it, upstream included (of several threads: the sum)
  std::uint64_t exclusive_ns = 0;  ///< inside it alone; for a stage with threads: all their work
  std::uint64_t wait_ns = 0;       ///< its consumer waited for it (stages with a queue)
  std::uint64_t full_ns = 0;       ///< its driver waited for room (stages with a queue)
  std::uint64_t buffered_elements = 0;  ///< held right now
  std::uint64_t buffered_bytes = 0;
};

struct PipelineStatistics {
  std::vector<StageStatistics> stages;  ///< from the consumer's side to the sources
  /// A table that a person can read.
  std::string table() const;
};

}  // namespace infeed
