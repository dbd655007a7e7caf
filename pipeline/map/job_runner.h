#pragma once

#include <cstdint>
#include <memory>

#include <infeed/pipeline/detail/elementwise.h>

#include "engine/iterator_context.h"
#include "engine/recording/one_by_one.h"
#include "map/job.h"

namespace infeed::detail {

/// Calls the user's function for a job's elements, and holds the results as they come.
///
/// Thread-safety: several threads may run different jobs at once.
class JobRunner {
 public:
  /// `input` is used for tracing.
  JobRunner(IteratorContext& run, StageCounters& counters,
            std::shared_ptr<const ElementwiseSpec> spec, const Stage& input, std::uint64_t epoch)
      : run_(run), counters_(counters), spec_(std::move(spec)), input_(input), epoch_(epoch) {}

  /// Runs the job. With `may_stop` it stops after results that turn out larger than the room. The
  /// rest of `in` then becomes another job.
  void run(Job& job, bool may_stop) const;
  /// Runs the job, and returns whether the function waited for most of the time. The clocks cost 3
  /// us.
  bool run_and_watch(Job& job, bool may_stop) const;

  const ElementwiseSpec& spec() const { return *spec_; }

 private:
  void run_blocks(Job& job, std::uint64_t& position, bool may_stop) const;
  std::size_t block_behind(std::size_t block, std::uint64_t count, std::uint64_t ticks) const;
  void run_elements(Job& job, std::uint64_t& position, std::size_t count) const;

  IteratorContext& run_;
  StageCounters& counters_;
  const std::shared_ptr<const ElementwiseSpec> spec_;
  const Stage& input_;
  const std::uint64_t epoch_;
  mutable OneByOne one_by_one_;  ///< if the iterator records
};

}  // namespace infeed::detail
