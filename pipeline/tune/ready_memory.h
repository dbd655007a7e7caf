#pragma once

#include <cstdint>
#include <optional>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::detail {

/// Bounds what buffers may hold when the control group comes near its memory limit.
class ReadyMemory {
 public:
  /// Bounds ready elements when the group's limit was lowered or others in it want more. They go
  /// first, since that costs no extra work. True if the iterator's own limit has changed since the
  /// last look.
  bool look(const TuningObservation& seen, TuningDecision& decision);

 private:
  void bound(const TuningObservation& seen, TuningDecision& decision);

  std::uint64_t limit_bytes_ = UINT64_MAX;  ///< the iterator's; UINT64_MAX before the first look
  std::optional<std::uint64_t> ready_bytes_max_;  ///< set while the group is short of memory
  std::uint64_t ready_bytes_before_ = 0;          ///< ready_bytes at that time
  int windows_ = 0;                               ///< windows since ready_bytes_max_ changed
};

}  // namespace infeed::detail
