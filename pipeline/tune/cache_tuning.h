#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "tune/pipeline_model.h"

namespace infeed::detail {

/// Where a cache would help, if there is a place for one: each pass makes the same there, and it
/// fits. It is the user's to write, who alone knows whether a function gives the same each time.
std::string cache_text(const PipelineModel& model, const TuningObservation& seen);

/// Optional caches: when they keep their elements, and whether that brought what was promised.
class CacheTuning {
 public:
  explicit CacheTuning(bool only_advises) : only_advises_(only_advises) {}

  /// Turns on the optional cache that promises most, if one does, and judges it in later windows. True
  /// when another phase began with it: nothing is known then.
  bool place(const PipelineModel& model, const TuningObservation& seen, TuningDecision& decision);

 private:
  /// One that was asked for.
  struct Caching {
    TuningChange change;
    std::uint64_t knob;
    double ns = 0;  ///< in which it was read
    double elements = 0;
  };

  bool follow(const TuningObservation& seen, TuningDecision& decision);
  void finish(TuningChange::Outcome outcome, TuningDecision& decision);

  const bool only_advises_;
  std::optional<Caching> caching_;
  std::set<std::uint64_t> useless_;  ///< that brought nothing, or had no room
};

}  // namespace infeed::detail
