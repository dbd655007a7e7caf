#pragma once

#include <cstdint>
#include <memory>

#include <infeed/pipeline/detail/elementwise.h>

#include "engine/iterator_context.h"
#include "map/job.h"

namespace infeed::detail {

/// Puts a job's elements through the user's function, and holds the results as they come.
///
/// Thread-safety: several threads may run jobs, each its own.
class JobRunner {
 public:
  /// `input` is traced through.
  JobRunner(IteratorContext& run, StageCounters& counters,
            std::shared_ptr<const ElementwiseSpec> spec, const Stage& input, std::uint64_t epoch)
      : run_(run), counters_(counters), spec_(std::move(spec)), input_(input), epoch_(epoch) {}

  /// With `may_stop` a job stops behind results that turn out larger than there is room for: what is
  /// left of its `in` is a job of its own.
  void run(Job& job, bool may_stop) const;
  /// The same; returns whether the function waited for something for most of the time. The clocks cost
  /// 3 us.
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
};

}  // namespace infeed::detail
