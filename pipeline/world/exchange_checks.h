#pragma once

#include <cstddef>
#include <fmt/format.h>
#include <span>
#include <string_view>

#include <infeed/communicator.h>
#include <infeed/error.h>

namespace infeed::detail {

using Outgoing = std::span<const std::span<const std::byte>>;
using Incoming = std::span<const std::span<std::byte>>;

/// Throws unless there is a span a rank, and both spans of this rank are equally long.
inline void check_exchange(const World& world, Outgoing outgoing, Incoming incoming,
                           std::string_view purpose) {
  const std::size_t size = static_cast<std::size_t>(world.size);
  if (outgoing.size() != size || incoming.size() != size) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("exchange in '{}': {} outgoing and {} incoming spans; there must be one "
                    "for each of the {} ranks",
                    purpose, outgoing.size(), incoming.size(), size));
  }
  const std::size_t own = static_cast<std::size_t>(world.rank);
  if (outgoing[own].size() != incoming[own].size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("exchange in '{}': rank {} sends itself {} bytes, but expects {}",
                            purpose, world.rank, outgoing[own].size(), incoming[own].size()));
  }
}

inline void check_message(const World& world, int rank, int tag) {
  constexpr int kTagMax = 9'999;
  if (rank >= 0 && rank < world.size && tag >= 0 && tag <= kTagMax) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("send to rank {} with tag {}: ranks are 0 to {}, tags 0 to {}", rank, tag,
                          world.size - 1, kTagMax));
}

/// Returns the error when a rank is silent or dead.
inline RankLost silent_rank(int rank, std::string_view how, std::chrono::nanoseconds waited,
                            std::string_view purpose, const World& world) {
  return {rank,
          fmt::format("rank {} {} for {:.1f} s, in '{}' at rank {} of {}; start the job again: it "
                      "goes on from its last checkpoint, with any number of ranks",
                      rank, how, std::chrono::duration<double>(waited).count(), purpose, world.rank,
                      world.size)};
}

}  // namespace infeed::detail
