#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "infeed/error.h"
#include "remote/aws/sigv4.h"

namespace infeed::detail {

/// Something that is fetched, through all of its attempts. Made by Transfers.
///
/// Invariants: everything in the second part is guarded by the mutex of its Transfers, but for the
/// bytes: the engine's thread alone writes them, only beyond `filled_bytes`, and whoever has seen
/// `filled_bytes` under the mutex may read those before it. `bytes` is replaced only while
/// `filled_bytes` is 0. The third part is the engine's thread's own.
struct Transfer {
  enum class Kind {
    opening,  ///< a range that also says which object it is
    range,
    whole,  ///< an answer of any length, into `text`
  };
  using Clock = std::chrono::steady_clock;

  Transfer(Kind kind_wanted, std::uint64_t offset, std::size_t size, NamesAndValues asked)
      : kind(kind_wanted), offset_bytes(offset), query(std::move(asked)), size_bytes(size) {}

  const Kind kind;
  const std::uint64_t offset_bytes;
  const NamesAndValues query;

  std::size_t size_bytes;
  std::size_t filled_bytes = 0;
  bool is_done = false;
  bool is_abandoned = false;
  std::optional<Error> error = std::nullopt;
  std::unique_ptr<char[]> bytes = nullptr;
  std::string text = {};

  struct Progress {
    unsigned attempts = 0;  ///< at work
    unsigned tries = 0;     ///< since it came further
    std::size_t filled_bytes_before = 0;
    bool is_hedged = false;
    bool is_steady = true;  ///< nothing failed: its time says how quick the server is
    Clock::time_point began = {};
    Clock::time_point not_before = {};
  };
  Progress progress = {};
};

}  // namespace infeed::detail
