#pragma once

#include <cstdint>

#include <infeed/device/metrics.h>
#include <infeed/device/tape.h>

namespace infeed::detail {

/// The results of one replica for one step.
struct ReplicaOutcome {
  Metrics metrics = {};
  Gradients gradients = {};
  Updates updates = {};
  std::uint64_t rows_hash = 0;  ///< hash of the replica's rows, if asked for
};

}  // namespace infeed::detail
