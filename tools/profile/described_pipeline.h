#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include <infeed/describe/description.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/records/column_batch.h>

/// Why: "would this pipeline keep a device busy, and what would help?" can be asked without a line
/// of C++: the pipeline is a file in the JSON form of pipeline/describe/README.md, and the step a
/// number in it.
///
///     {"stages": [
///        {"stage": "records", "files": "train-*.tfrecord"},
///        {"stage": "shuffle", "buffer": 10000, "seed": 1},
///        {"stage": "repeat"},
///        {"stage": "parse"},
///        {"stage": "batch", "size": 128},
///        {"stage": "prefetch"}],
///      "step_us": 1500}
///
/// "step_us" is how long the simulated device computes on a batch, a minute at most.
namespace infeed::tools {

struct DescribedPipeline {
  describe::Description description;
  std::int64_t step_us = 0;

  /// Throws Error (invalid_argument) that names the place, or says that there are no batches.
  static DescribedPipeline parse(const std::string& json, const std::string& file);
  const Dataset<ColumnBatch>& dataset() const;

  // The same pipeline with one change; nothing where it is made already.
  /// Keeps the source's elements in memory.
  std::optional<DescribedPipeline> with_cache() const;
  std::optional<DescribedPipeline> with_prefetch() const;
  /// Leaves the number of threads of every stage to the tuner.
  std::optional<DescribedPipeline> with_tuned_threads() const;
};

/// Iterates the pipeline for a time, a step a batch, and records it. Throws what next() throws.
struct MeasuredRate {
  std::uint64_t steps = 0;
  double steps_per_s = 0;
};
MeasuredRate run_described(const DescribedPipeline& pipeline, double seconds,
                           const std::string& recording, const std::stop_token& stop);

}  // namespace infeed::tools
