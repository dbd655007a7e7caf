#pragma once

#include <infeed/pipeline/stage.h>

#include "engine/seeds/signature.h"

namespace infeed::detail {

/// A node that keeps elements for other processes. A run that reads some of these elements and
/// makes the others must draw by the seeds that made the kept ones. Otherwise some elements would
/// come twice, and others never.
class KeepsSeeds {
 public:
  KeepsSeeds() = default;
  virtual ~KeepsSeeds() = default;
  KeepsSeeds(const KeepsSeeds&) = delete;
  KeepsSeeds& operator=(const KeepsSeeds&) = delete;

  /// Returns the seeds of the elements that are kept now, in a run that has adopted these seeds so
  /// far.
  virtual AdoptedSeeds kept_seeds(const AdoptedSeeds& adopted) const = 0;
};

/// Adds the kept seeds of `node` and its inputs. Seeds that are already in `adopted` stay. So those
/// of a checkpoint come first, then those of the last of several such nodes, since its elements are
/// read before the others'.
void add_kept_seeds(const Node& node, AdoptedSeeds& adopted);

}  // namespace infeed::detail
