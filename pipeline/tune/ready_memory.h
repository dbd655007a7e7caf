#pragma once

#include <cstdint>
#include <optional>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::detail {

/// Bounds what buffers may hold where the process as a whole comes near its limit.
class ReadyMemory {
 public:
  /// A limit that was lowered, or others in the group that want more: what is only kept ready goes
  /// first, since it costs no work that isn't done anyway. True where the iterator has another limit
  /// than at the last look.
  bool look(const TuningObservation& seen, TuningDecision& decision);

 private:
  void bound(const TuningObservation& seen, TuningDecision& decision);

  std::uint64_t limit_bytes_ = UINT64_MAX;  ///< the iterator's; UINT64_MAX before the first look
  std::optional<std::uint64_t> ready_bytes_max_;  ///< since the control group was nearly full
  std::uint64_t ready_bytes_before_ = 0;          ///< ready_bytes at that time
  int windows_ = 0;                               ///< since it was last changed
};

}  // namespace infeed::detail
