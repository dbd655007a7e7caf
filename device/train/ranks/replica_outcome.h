#pragma once

#include <infeed/device/metrics.h>
#include <infeed/device/tape.h>

namespace infeed::detail {

/// The results of one replica for one step.
struct ReplicaOutcome {
  Metrics metrics = {};
  Gradients gradients = {};
  Updates updates = {};
};

}  // namespace infeed::detail
