#include "engine/threads/chunk_queue.h"

#include <algorithm>
#include <chrono>

namespace infeed::detail {
namespace {

constexpr std::uint64_t kAdaptiveBytesMax = 64 << 20;
constexpr std::size_t kSpareChunksMax = 4;
constexpr auto kCollecting = std::chrono::microseconds(200);

}  // namespace

ChunkQueue::ChunkQueue(IteratorContext& run, StageCounters& counters, const TypeInfo& type,
                       const QueueLimits& limits)
    : run_(run), counters_(counters), type_(type), limits_(limits) {}

ChunkQueue::~ChunkQueue() {
  for (Entry& entry : chunks_) run_.memory().release_best_effort(entry.reserved_bytes);
  chunks_.clear();
  elements_ = bytes_ = 0;
  publish_level();
}

bool ChunkQueue::admits(std::uint64_t elements, std::uint64_t bytes) const {
  return elements_ + elements <= limits_.elements_max || bytes_ + bytes <= limits_.bytes_max;
}

std::size_t ChunkQueue::room_elements() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t by_count =
      limits_.elements_max > elements_ ? limits_.elements_max - elements_ : 0;
  const std::uint64_t by_bytes =
      limits_.bytes_max > bytes_
          ? (limits_.bytes_max - bytes_) / std::max<std::size_t>(1, type_.size)
          : 0;
  return static_cast<std::size_t>(std::max<std::uint64_t>({1, by_count, by_bytes}));
}

void ChunkQueue::note_interval() {
  const std::uint64_t now = ticks_now();
  if (push_ticks_ != 0) interval_ticks_ = (interval_ticks_ * 3 + (now - push_ticks_)) / 4;
  push_ticks_ = now;
}

bool ChunkQueue::merge_into_last(Chunk& chunk, std::uint64_t bytes) {
  if (chunks_.empty()) return false;
  Entry& last = chunks_.back();
  if (last.chunk.has_error() || last.chunk.room() < chunk.size()) return false;
  last.chunk.append_from(chunk, chunk.size());
  if (chunk.has_error()) last.chunk.set_error(chunk.take_error());
  last.reserved_bytes += bytes;
  last.bytes += bytes;
  return true;
}

bool ChunkQueue::push(Chunk& chunk) {
  const std::uint64_t elements = chunk.slots();
  const std::uint64_t bytes = chunk.bytes();
  std::unique_lock lock(mutex_);
  bool reserved = false;
  const auto admitted = [&] {
    if (stopped_) return true;
    if (chunks_.empty()) {
      reserved = run_.memory().try_reserve_best_effort(bytes);
      return true;
    }
    return admits(elements, bytes) && (reserved = run_.memory().try_reserve_best_effort(bytes));
  };
  if (!admitted()) {
    was_full_ = true;
    const std::uint64_t begin = ticks_now();
    do {
      producer_waits_ = true;
      room_.wait(lock);
    } while (!admitted());
    producer_waits_ = false;
    StageCounters::add(counters_.full_ticks, ticks_now() - begin);
    push_ticks_ = 0;  // the interval that ends here was not the producer's own
  }
  if (stopped_) {
    if (reserved) run_.memory().release_best_effort(bytes);
    return false;
  }
  note_interval();
  elements_ += elements;
  bytes_ += bytes;
  if (!reserved || !merge_into_last(chunk, bytes)) {
    Chunk empty = [&] {
      if (spare_.empty()) return Chunk(type_, chunk.capacity());
      Chunk spare = std::move(spare_.back());
      spare_.pop_back();
      return spare;
    }();
    empty.swap(chunk);
    chunks_.push_back(Entry{std::move(empty), reserved ? bytes : 0, bytes});
  }
  publish_level();
  const bool half_full = 2 * elements_ >= limits_.elements_max && 2 * bytes_ >= limits_.bytes_max;
  if (wake_at_ != 0 && (chunks_.size() >= wake_at_ || half_full)) {
    wake_at_ = 0;
    lock.unlock();
    values_.notify_one();
  }
  return true;
}

void ChunkQueue::finish(ErrorPointer failure) {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    failure_ = std::move(failure);
  }
  values_.notify_one();
}

void ChunkQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  values_.notify_all();
  room_.notify_all();
}

/// False when there will be no chunk.
bool ChunkQueue::wait_for_chunks(std::unique_lock<std::mutex>& lock) {
  const auto over = [this] { return finished_ || stopped_; };
  if (was_full_ && limits_.adaptive && limits_.bytes_max < kAdaptiveBytesMax) {
    limits_.elements_max *= 2;
    limits_.bytes_max *= 2;
  }
  was_full_ = false;
  if (producer_waits_) room_.notify_one();
  const std::uint64_t begin = ticks_now();
  const std::uint64_t collecting_ticks =
      ticks_of_us(std::chrono::microseconds(kCollecting).count());
  const std::uint64_t arriving = interval_ticks_ == 0 ? 1 : collecting_ticks / interval_ticks_;
  while (chunks_.empty() && !over()) {
    wake_at_ = std::clamp<std::size_t>(static_cast<std::size_t>(arriving), 1, 16);
    if (wake_at_ == 1) {
      values_.wait(lock);
    } else {
      // Should fewer come than expected, those that are here don't wait for the others.
      values_.wait_for(lock, kCollecting);
    }
  }
  wake_at_ = 0;
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin);
  return !chunks_.empty();
}

Pull ChunkQueue::pop(Chunk& out) {
  std::unique_lock lock(mutex_);
  if (chunks_.empty() && !(finished_ || stopped_)) wait_for_chunks(lock);
  if (stopped_) return Pull::cancelled;
  if (chunks_.empty() && failure_ != nullptr) throw Error(*failure_);
  if (chunks_.empty()) return Pull::end;
  Entry entry = std::move(chunks_.front());
  chunks_.pop_front();
  out.swap(entry.chunk);
  if (spare_.size() < kSpareChunksMax) spare_.push_back(std::move(entry.chunk));
  elements_ -= out.slots();
  bytes_ -= entry.bytes;
  run_.memory().release_best_effort(entry.reserved_bytes);
  publish_level();
  const bool half_empty = 2 * elements_ <= limits_.elements_max || 2 * bytes_ <= limits_.bytes_max;
  if (producer_waits_ && (half_empty || chunks_.empty())) {
    producer_waits_ = false;
    lock.unlock();
    room_.notify_one();
  }
  return Pull::values;
}

void ChunkQueue::publish_level() {
  counters_.buffered_elements.store(elements_, std::memory_order_relaxed);
  counters_.buffered_bytes.store(bytes_, std::memory_order_relaxed);
}

}  // namespace infeed::detail
