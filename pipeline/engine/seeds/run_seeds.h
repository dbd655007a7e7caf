#pragma once

#include <mutex>
#include <utility>

#include <infeed/pipeline/stage_context.h>

#include "engine/seeds/signature.h"

namespace infeed::detail {

/// The seeds that the stages of one iterator draw from. Thread-safety: any thread may call it.
///
/// Invariants: inner_mutex_ guards inner_. adopted_ doesn't change once a stage was made.
class RunSeeds {
 public:
  /// Sets the seeds that replace the drawn seeds of nodes: those of the checkpoint, and those by
  /// which kept elements were made. Call it before any stage is made.
  void adopt(AdoptedSeeds seeds) { adopted_ = std::move(seeds); }
  const AdoptedSeeds& adopted() const { return adopted_; }
  /// Returns true if adopted seeds differ from the dataset's own, so that it gives other elements.
  bool are_others() const;
  /// Returns the adopted seeds, and those by which inner datasets have drawn, for a checkpoint.
  AdoptedSeeds for_checkpoint() const;
  /// Notes that an inner dataset of the node has drawn by the node's seed.
  void note_inner_draws(const Node& node);
  /// Returns which nodes' inner datasets have drawn so far: those of `input` and of the nodes
  /// before it, or, for a stage in an inner dataset, those of `inner.outermost`. A stage that keeps
  /// elements keeps this with them.
  InnerDraws inner_draws(const Node& input, const StageContext::Inner& inner) const;
  /// Notes the draws of kept elements in a run that reads them without opening inner datasets.
  void note_inner_draws(const InnerDraws& draws, const StageContext::Inner& inner);
  /// Returns the seeds that the node's stage draws from in this run.
  Seeds of(const Node& node) const;

 private:
  AdoptedSeeds adopted_;
  mutable std::mutex inner_mutex_;
  AdoptedSeeds inner_;
};

}  // namespace infeed::detail
