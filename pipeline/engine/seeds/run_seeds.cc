#include "engine/seeds/run_seeds.h"

#include <algorithm>

namespace infeed::detail {
namespace {

void add_those_in(const AdoptedSeeds& seeds, const Node& node, std::vector<const Node*>& nodes) {
  if (seeds.contains(&node)) nodes.push_back(&node);
  for (const NodePointer& input : node.inputs()) add_those_in(seeds, *input, nodes);
}

}  // namespace

Seeds RunSeeds::of(const Node& node) const {
  const auto adopted = adopted_.find(&node);
  return adopted != adopted_.end() ? adopted->second : node.seeds().value_or(Seeds{});
}

bool RunSeeds::are_others() const {
  return std::any_of(adopted_.begin(), adopted_.end(), [](const auto& entry) {
    const Seeds own = entry.first->seeds().value_or(Seeds{});
    return own.seed != entry.second.seed || own.seed2 != entry.second.seed2;
  });
}

void RunSeeds::note_inner_draws(const Node& node) {
  const std::lock_guard lock(inner_mutex_);
  inner_.try_emplace(&node, of(node));
}

InnerDraws RunSeeds::inner_draws(const Node& input, const StageContext::Inner& inner) const {
  const std::lock_guard lock(inner_mutex_);
  InnerDraws draws;
  if (inner.outermost == nullptr) {
    add_those_in(inner_, input, draws.nodes);
  } else {
    draws.by_outermost = inner_.contains(inner.outermost);
  }
  return draws;
}

void RunSeeds::note_inner_draws(const InnerDraws& draws, const StageContext::Inner& inner) {
  for (const Node* const node : draws.nodes) note_inner_draws(*node);
  if (draws.by_outermost) note_inner_draws(*inner.outermost);
}

AdoptedSeeds RunSeeds::for_checkpoint() const {
  const std::lock_guard lock(inner_mutex_);
  AdoptedSeeds seeds = adopted_;
  seeds.insert(inner_.begin(), inner_.end());
  return seeds;
}

}  // namespace infeed::detail
