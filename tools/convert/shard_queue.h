#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <vector>

namespace infeed::tools {

/// The shards of a conversion that are still to be made, handed out one by one to the threads of this
/// process and to other ranks. What a lost rank had is handed out again.
///
/// Thread-safety: any thread.
class ShardQueue {
 public:
  /// Takes the shards in the order in which they are handed out.
  explicit ShardQueue(const std::vector<std::uint32_t>& shards);

  struct Turn {
    std::uint32_t shard = 0;
    /// True if a lost rank may still be writing the shard, and so holds its partial file.
    bool was_lost = false;
  };
  /// Returns a shard for this process; waits while others may give some back. Returns nothing if all
  /// are made, and after a stop or close().
  std::optional<Turn> wait_for_next(const std::stop_token& stop);
  /// Returns a shard for another rank; nothing if there is none at this moment.
  std::optional<Turn> next_for(int rank);
  /// Returns true for the first one who made this shard: his counts. The others' have the same bytes.
  bool claim(std::uint32_t shard);
  /// Called once a claimed shard is committed.
  void note_committed();
  /// Takes back what the rank was given and has not made. Returns how many shards that are.
  std::size_t take_back_from(int rank);
  /// Ends all waiting after a failure.
  void close();

 private:
  std::optional<Turn> take_first();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Turn> waiting_;
  std::set<std::uint32_t> unclaimed_;
  std::map<std::uint32_t, int> given_;  ///< rank by shard
  std::size_t uncommitted_ = 0;
  bool is_closed_ = false;
};

}  // namespace infeed::tools
