#include "cache/stored_draws.h"

#include <algorithm>
#include <functional>
#include <string>

#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

/// Returns the seed of the outermost flat_map, by which all stages in an inner dataset draw.
std::string seed_of_outermost(const StageContext& store) {
  const Node* const outermost = store.inner.outermost;
  return outermost == nullptr ? "none" : std::to_string(store.run.seeds().of(*outermost).seed);
}

}  // namespace

std::vector<StoredDraw> draws_of_run(const StageContext& store, const Node& input) {
  const InnerDraws drawn = store.run.seeds().inner_draws(input, store.inner);
  std::vector<StoredDraw> draws;
  if (drawn.by_outermost) draws.push_back({StoredDraw::kOutermost, seed_of_outermost(store)});
  AdoptedSeeds seeds;
  for (const Node* const node : drawn.nodes) seeds.emplace(node, store.run.seeds().of(*node));
  const std::vector<std::string> without = signature_of(input);
  const std::vector<std::string> lines = signature_of(input, seeds);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] != without[i]) draws.push_back({i, lines[i]});
  }
  return draws;
}

AdoptedSeeds seeds_in(const std::vector<StoredDraw>& draws, const Node& input) {
  std::vector<std::string> lines = signature_of(input);
  for (const StoredDraw& draw : draws) {
    if (draw.stage < lines.size()) lines[static_cast<std::size_t>(draw.stage)] = draw.line;
  }
  AdoptedSeeds seeds = match_signature(lines, input, std::equal_to<>()).adopted;
  std::erase_if(seeds, [](const auto& entry) { return !entry.second.inner; });
  return seeds;
}

bool are_of_run(const std::vector<StoredDraw>& draws, const StageContext& store,
                const Node& input) {
  const AdoptedSeeds seeds = seeds_in(draws, input);
  return std::all_of(seeds.begin(), seeds.end(),
                     [&](const auto& entry) {
                       return store.run.seeds().of(*entry.first).seed == entry.second.seed;
                     }) &&
         std::all_of(draws.begin(), draws.end(), [&](const StoredDraw& draw) {
           return draw.stage != StoredDraw::kOutermost || draw.line == seed_of_outermost(store);
         });
}

void note_in_run(const std::vector<StoredDraw>& draws, const StageContext& store,
                 const Node& input) {
  InnerDraws drawn;
  for (const auto& [node, seeds] : seeds_in(draws, input)) drawn.nodes.push_back(node);
  drawn.by_outermost = store.inner.outermost != nullptr &&
                       std::any_of(draws.begin(), draws.end(), [](const StoredDraw& draw) {
                         return draw.stage == StoredDraw::kOutermost;
                       });
  store.run.seeds().note_inner_draws(drawn, store.inner);
}

}  // namespace infeed::detail
