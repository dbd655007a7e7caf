#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/records/column_batch.h>

/// Why: "would this pipeline keep a device busy, and what would help?" can be asked of record files
/// without a line of C++: readers, parsing, shuffling, batches and a step are described by a small
/// JSON file.
///
///     {
///       "records": ["train-*.tfrecord"],
///       "interleave": {"cycle_length": 4, "block_length": 16},
///       "shuffle": {"buffer": 10000, "seed": 1},
///       "batch": 128,
///       "prefetch": true,
///       "step_us": 1500
///     }
///
/// Members besides: "schema" (columns as ColumnSchema::to_json() writes them; else inferred from
/// the records), "threads" (of parsing and of interleave; left out: the tuner's), "cache" (true:
/// the records stay in memory), "repeat" (left out: for ever). "step_us" is how long the simulated
/// device computes on a batch, a minute at most.
namespace infeed::tools {

struct DescribedPipeline {
  struct Interleave {
    std::int64_t cycle_length = 4;
    std::int64_t block_length = 1;
  };
  struct Shuffle {
    std::int64_t buffer = 0;
    std::optional<std::uint64_t> seed = std::nullopt;
  };

  std::vector<std::string> records = {};  ///< paths, patterns, URLs
  std::optional<Interleave> interleave = std::nullopt;
  std::optional<Shuffle> shuffle = std::nullopt;
  std::string schema = {};  ///< JSON; empty: inferred
  std::int64_t batch = 128;
  std::optional<std::int64_t> threads = std::nullopt;
  bool cache = false;
  bool prefetch = false;
  std::int64_t repeat = -1;
  std::int64_t step_us = 0;

  /// Throws Error (invalid_argument) that names the member: unknown, of another type, out of range.
  static DescribedPipeline parse(const std::string& json, const std::string& file);
  /// Opens files only to infer a schema.
  Dataset<ColumnBatch> dataset() const;
};

/// Iterates the pipeline for a time, a step a batch, and records it. Throws what next() throws.
struct MeasuredRate {
  std::uint64_t steps = 0;
  double steps_per_s = 0;
};
MeasuredRate run_described(const DescribedPipeline& pipeline, double seconds,
                           const std::string& recording, const std::stop_token& stop);

}  // namespace infeed::tools
