#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "tune/pipeline_model.h"

namespace infeed::detail {

/// True if a stage gave elements and no stage before it did.
bool is_read_from_memory(const TuningObservation& seen, int stage);
/// Returns null if the pipeline has no such knob (now).
const KnobState* find_knob(const TuningObservation& seen, std::uint64_t id);

/// Says behind which stage a cache would help: each pass makes the same elements there, and they
/// fit into memory. Empty if there is no such stage. The user must write the cache: nobody else
/// knows whether a function gives the same each time.
std::string cache_text(const PipelineModel& model, const TuningObservation& seen);

/// Decides when optional caches keep their elements, and judges whether that brought the gain.
class CacheTuning {
 public:
  explicit CacheTuning(bool only_advises) : only_advises_(only_advises) {}

  /// Turns on the optional cache that promises most, if one promises enough, and judges it in later
  /// windows. True once it was judged: another phase begins then, of which nothing is known.
  bool place(const PipelineModel& model, const TuningObservation& seen, TuningDecision& decision);

 private:
  /// A cache that was turned on and isn't judged yet.
  struct Caching {
    TuningChange change;
    std::uint64_t knob;
    double ns = 0;  ///< time in which it was read
    double elements = 0;
  };

  bool follow(const TuningObservation& seen, TuningDecision& decision);
  void finish(TuningChange::Outcome outcome, TuningDecision& decision);

  const bool only_advises_;
  std::optional<Caching> caching_;
  std::set<std::uint64_t> useless_;  ///< knobs of caches that aren't tried (again)
};

}  // namespace infeed::detail
