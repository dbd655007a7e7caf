#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infeed/communicator.h>

#include "convert/convert_together.h"

/// The messages of ranks that convert together, and how long each has been silent.
namespace infeed::tools {

inline constexpr int kRootRank = 0;

enum class Word : int {
  // to rank 0
  ask = 1,  ///< wants a shard; number: the plan's checksum
  alive,    ///< number: examples done
  made,     ///< number: 1 if the shard was there; text: its entry
  // from rank 0
  shard,  ///< number: the shard; text: its entry in the journal, or nothing
  aside,  ///< the same, for a shard that a lost rank may be writing, too
  heard,  ///< the answer to `alive`
  end,    ///< the set is complete; number: its flags
};

// Flags of Word::end.
inline constexpr std::uint64_t kSomeAreLost = 1;
inline constexpr std::uint64_t kWasComplete = 2;

/// One call of ConvertRanks::convert(), as both kinds of ranks know it.
struct RankCall {
  Communicator& ranks;
  const ConvertRanksOptions& options;
  std::uint32_t set = 0;
  std::uint32_t plan_sum = 0;  ///< CRC-32C of the plan
};

struct RankMessage {
  Word word = Word::ask;
  std::uint32_t set = 0;  ///< number of the set that the sender is at
  std::uint64_t number = 0;
  std::string text = {};
};

void send_message(Communicator& ranks, int rank, const RankMessage& message);

struct ReceivedMessage : RankMessage {
  int source = 0;
};
/// Returns a message. If there is none, it sleeps for a moment and returns nothing.
std::optional<ReceivedMessage> next_message(Communicator& ranks);

/// When each rank was heard last.
class Silence {
 public:
  using Clock = std::chrono::steady_clock;
  Silence(int size, std::chrono::nanoseconds max);
  void heard(int rank);
  /// Must be called often: a process that was stopped itself must not blame the others.
  bool is_too_long(int rank);

 private:
  const std::chrono::nanoseconds max_;
  std::vector<Clock::time_point> heard_;
  Clock::time_point checked_ = Clock::now();
};

}  // namespace infeed::tools
