#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace infeed::detail {

/// Why: memory is best used again by the core that used it last, which may have it in its cache.
/// Where two cores share no cache (server processors are made of groups of four to eight that do),
/// to write a line that the other one wrote last takes 350 ns instead of 55, and what is read into
/// such memory comes at a third of the speed. So the pools prefer what this core has had.
///
/// The core that runs the calling thread, which it may leave at any time; 0 where the system doesn't
/// tell. Takes about 2 ns.
int current_core();

/// Takes the warmest block out of a pool's free ones, which came back in this order: one that this core
/// had (`is_own`), rather than any that `fits`. Null where none does. It looks at 64 for one of its own,
/// so that nobody waits for thousands to be searched.
template <class Block, class IsOwn, class Fits>
Block* take_warmest(std::vector<Block*>& free, IsOwn is_own, Fits fits) {
  constexpr std::ptrdiff_t kLookedAtMax = 64;
  const auto looked_at = free.rbegin() + std::min(kLookedAtMax, std::ssize(free));
  auto found = std::find_if(free.rbegin(), looked_at,
                            [&](const Block* block) { return fits(block) && is_own(block); });
  if (found == looked_at) found = std::find_if(free.rbegin(), free.rend(), fits);
  if (found == free.rend()) return nullptr;
  Block* const block = *found;
  free.erase(std::next(found).base());
  return block;
}

}  // namespace infeed::detail
