#include "convert/shard_queue.h"

namespace infeed::tools {

ShardQueue::ShardQueue(const std::vector<std::uint32_t>& shards)
    : unclaimed_(shards.begin(), shards.end()), uncommitted_(shards.size()) {
  for (const std::uint32_t shard : shards) waiting_.push_back({.shard = shard});
}

std::optional<ShardQueue::Turn> ShardQueue::take_first() {
  while (!waiting_.empty()) {
    const Turn turn = waiting_.front();
    waiting_.pop_front();
    // A rank that was taken for lost may have made it in the meantime.
    if (unclaimed_.contains(turn.shard)) return turn;
  }
  return std::nullopt;
}

std::optional<ShardQueue::Turn> ShardQueue::wait_for_next(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::optional<Turn> turn;
  changed_.wait(lock, stop, [&] {
    if (is_closed_ || uncommitted_ == 0 || stop.stop_requested()) return true;
    turn = take_first();
    return turn.has_value();
  });
  return turn;
}

std::optional<ShardQueue::Turn> ShardQueue::next_for(int rank) {
  const std::lock_guard lock(mutex_);
  const std::optional<Turn> turn = take_first();
  if (turn) given_.insert_or_assign(turn->shard, rank);
  return turn;
}

bool ShardQueue::claim(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  given_.erase(shard);
  return unclaimed_.erase(shard) > 0;
}

void ShardQueue::note_committed() {
  const std::lock_guard lock(mutex_);
  if (--uncommitted_ == 0) changed_.notify_all();
}

std::size_t ShardQueue::take_back_from(int rank) {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (auto given = given_.begin(); given != given_.end();) {
    if (given->second != rank) {
      ++given;
      continue;
    }
    waiting_.push_front({.shard = given->first, .was_lost = true});
    given = given_.erase(given);
    ++count;
  }
  changed_.notify_all();
  return count;
}

void ShardQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

}  // namespace infeed::tools
