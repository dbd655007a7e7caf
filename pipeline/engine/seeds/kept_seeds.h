#pragma once

#include <infeed/pipeline/stage.h>

#include "engine/seeds/signature.h"

namespace infeed::detail {

/// A node that keeps elements for other processes. By what inner datasets have drawn for these, a run
/// that reads some and makes others draws, too; or elements would come twice, and others never.
class KeepsSeeds {
 public:
  KeepsSeeds() = default;
  virtual ~KeepsSeeds() = default;
  KeepsSeeds(const KeepsSeeds&) = delete;
  KeepsSeeds& operator=(const KeepsSeeds&) = delete;

  /// Of what is kept now, in a run that has adopted these seeds so far.
  virtual AdoptedSeeds kept_seeds(const AdoptedSeeds& adopted) const = 0;
};

/// Adds those of `node` and its inputs. What is there already stays: a checkpoint's come first, and
/// then those of the last of several such nodes, since what it keeps is read before others are.
void add_kept_seeds(const Node& node, AdoptedSeeds& adopted);

}  // namespace infeed::detail
