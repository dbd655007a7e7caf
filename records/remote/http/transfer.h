#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "infeed/error.h"
#include "remote/aws/sigv4.h"

namespace infeed::detail {

/// A range or list that is fetched, through all of its attempts. Made by Transfers.
///
/// Invariants: the second part is guarded by the mutex of its Transfers, except for the bytes. Only
/// the engine's thread writes bytes, and only beyond `filled_bytes`; a thread that has seen
/// `filled_bytes` under the mutex may read the bytes before it. `bytes` is replaced only while
/// `filled_bytes` is 0. The third part belongs to the engine's thread.
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
    unsigned attempts = 0;  ///< attempts at work
    unsigned tries = 0;     ///< tries since the last progress
    std::size_t filled_bytes_before = 0;
    unsigned short_answers = 0;  ///< in a row, without much progress
    std::size_t filled_bytes_when_short = 0;
    bool is_hedged = false;
    bool is_steady = true;  ///< no attempt failed, so its time tells the server's speed
    Clock::time_point began = {};
    Clock::time_point not_before = {};
  };
  Progress progress = {};
};

}  // namespace infeed::detail
