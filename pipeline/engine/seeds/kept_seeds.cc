#include "engine/seeds/kept_seeds.h"

namespace infeed::detail {

void add_kept_seeds(const Node& node, AdoptedSeeds& adopted) {
  if (const auto* const keeper = dynamic_cast<const KeepsSeeds*>(&node); keeper != nullptr) {
    const AdoptedSeeds kept = keeper->kept_seeds(adopted);
    adopted.insert(kept.begin(), kept.end());
  }
  for (const NodePointer& input : node.inputs()) add_kept_seeds(*input, adopted);
}

}  // namespace infeed::detail
