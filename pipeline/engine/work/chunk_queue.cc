#include "engine/work/chunk_queue.h"

#include <algorithm>
#include <utility>

#include "engine/recording/call_watch.h"
#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kQueueSpareChunksMax = 4;
constexpr std::size_t kCollectedChunksMax = 16;
constexpr auto kCollectChunks = std::chrono::microseconds(200);

}  // namespace

ChunkQueue::ChunkQueue(IteratorContext& run, StageCounters& counters, std::string thread_name,
                       Stage& input, const TypeInfo& type, const QueueLimits& limits,
                       std::function<void()> on_ready)
    : run_(run),
      counters_(counters),
      type_(type),
      on_ready_(std::move(on_ready)),
      depth_(counters, limits),
      pulled_(type),
      in_hand_(run.memory(), type.size),
      driver_(run, counters, hand_off_, values_, input, type,
              {.name = std::move(thread_name),
               .room = [this](std::size_t elements_max) { return room(elements_max); },
               .is_wanted = [this] { return is_starved(); },
               .take = [this](Chunk& chunk) { hold(chunk); },
               .finish = [this](ErrorPointer failure) { finish(std::move(failure)); }}) {}

ChunkQueue::~ChunkQueue() {
  stop();
  driver_.join();
  chunks_.clear();
  elements_ = bytes_ = 0;
  publish_level();
}

void ChunkQueue::start() {
  const auto lock = hand_off_.lock();
  driver_.start();
}

/// Returns how many elements may be pulled; 0 while there is no room, or none are wanted.
std::size_t ChunkQueue::room(std::size_t elements_max) {
  const std::uint64_t most = depth_.room(elements_, bytes_, type_.size);
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(most, elements_max));
  if (wanted > 0 && pulled_.empty()) {
    for (const std::size_t count : {wanted, std::size_t{1}}) {
      if (in_hand_.try_expect(count)) return count;
    }
    if (is_starved()) return 1;
  }
  // Nothing more comes for now. So a consumer that waits for several chunks takes those that are
  // ready, and the interval until the next chunk says nothing about the input.
  if (!chunks_.empty()) wake_collector();
  come_ticks_ = 0;
  return 0;
}

void ChunkQueue::wake_collector() {
  if (std::exchange(wake_at_, 0) != 0) values_.wake_one();
}

void ChunkQueue::note_interval() {
  const std::uint64_t now = ticks_now();
  if (come_ticks_ != 0) interval_ticks_ = (interval_ticks_ * 3 + (now - come_ticks_)) / 4;
  come_ticks_ = now;
}

bool ChunkQueue::merge_into_last(Chunk& chunk) {
  if (chunks_.empty()) return false;
  Chunk& last = chunks_.back();
  if (last.has_error() || last.room() < chunk.size()) return false;
  if (last.held().bytes() + in_hand_.held().bytes() > kChunkPayloadBytesMax) return false;
  last.append_from(chunk, chunk.size());
  if (chunk.has_error()) last.set_error(chunk.take_error());
  last.held().take_from(in_hand_.held());
  return true;
}

void ChunkQueue::hold(Chunk& chunk) {
  const std::uint64_t bytes = bytes_when_kept(chunk);
  const auto lock = hand_off_.lock();
  in_hand_.hold(chunk, bytes);
  pulled_.swap(chunk);
  add_pulled();
  if (pulled_.empty()) {
    note_interval();
  } else {
    depth_.note_full();
  }
}

/// Moves the pulled chunk into the queue if there is room.
void ChunkQueue::add_pulled() {
  const std::uint64_t elements = pulled_.slots();
  const std::uint64_t bytes = in_hand_.held().bytes();
  if (elements == 0) return;
  if (!chunks_.empty() && !depth_.admits(elements_ + elements, bytes_ + bytes)) return;
  if (chunks_.empty()) tell_ready();
  is_wanted_ = false;
  elements_ += elements;
  bytes_ += bytes;
  if (!merge_into_last(pulled_)) {
    if (spare_.empty()) spare_.emplace_back(type_, pulled_.capacity());
    chunks_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    chunks_.back().swap(pulled_);
    chunks_.back().held().take_from(in_hand_.held());
  }
  publish_level();
  if (chunks_.size() >= wake_at_ || depth_.is_half_full(elements_, bytes_)) wake_collector();
}

/// Returns how many chunks wake the consumer that begins to wait: as many as come in twice the time
/// for which it collects them. So its timer mostly wakes it, and the thread needn't.
std::size_t ChunkQueue::chunks_to_wake() const {
  const std::uint64_t collecting_ticks =
      ticks_of_us(std::chrono::microseconds(kCollectChunks).count());
  const std::uint64_t arriving = interval_ticks_ == 0 ? 1 : 2 * collecting_ticks / interval_ticks_;
  return std::clamp<std::size_t>(static_cast<std::size_t>(arriving), 1, kCollectedChunksMax);
}

/// Waits until chunks are ready, no more will come, something else has ended the wait, or the deadline is
/// there. Returns how long.
template <class HasEnded>
std::uint64_t ChunkQueue::wait_while_empty(std::unique_lock<std::mutex>& lock, Deadline deadline,
                                           HasEnded has_ended) {
  is_wanted_ = chunks_.empty();
  if (is_wanted_) driver_.wake();
  const WaitWatch wait(run_.recorder());
  const std::uint64_t begin = ticks_now();
  std::size_t wake_at = chunks_to_wake();
  bool in_time = deadline > Deadline();
  while (chunks_.empty() && !hand_off_.over() && in_time && !has_ended()) {
    // If none has come in the time for several, the next one is late, and wakes the consumer. If fewer
    // come than expected, those that are ready don't wait for the others.
    wake_at_ = std::exchange(wake_at, 1);
    const auto collected = std::chrono::steady_clock::now() + kCollectChunks;
    const bool collects = wake_at_ > 1 && collected < deadline;
    in_time = values_.wait_once_until(lock, collects ? collected : deadline) || collects;
  }
  wake_at_ = 0;
  const std::uint64_t waited_ticks = ticks_now() - begin;
  StageCounters::add(counters_.wait_ticks, waited_ticks);
  return waited_ticks;
}

/// Returns when chunks are ready, when no more will come, when the consumer may take the input, or
/// after the longest wait.
void ChunkQueue::wait_for_chunks(std::unique_lock<std::mutex>& lock) {
  const bool was_full = depth_.take_was_full();
  const std::uint64_t begin = ticks_now();
  const std::uint64_t waited_ticks =
      wait_while_empty(lock, std::chrono::steady_clock::now() + wait_max_,
                       [this] { return driver_.may_be_taken(); });
  depth_.note_wait(was_full, begin, waited_ticks);
}

void ChunkQueue::tell_ready() const {
  if (on_ready_) on_ready_();
}

void ChunkQueue::finish(ErrorPointer failure) {
  {
    const auto lock = hand_off_.lock();
    in_hand_.held().release();
    hand_off_.finish_locked(std::move(failure));
  }
  tell_ready();
}

void ChunkQueue::stop() {
  hand_off_.stop();
  tell_ready();
}

bool ChunkQueue::wait_until_ready(Deadline deadline, const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const auto lock = hand_off_.lock();
    values_.wake_all();
  });
  auto lock = hand_off_.lock();
  wait_while_empty(lock, deadline, [&stop] { return stop.stop_requested(); });
  return !chunks_.empty() || hand_off_.over();
}

Pull ChunkQueue::pull_here(Chunk& out, std::size_t want) {
  const std::uint64_t begin = ticks_now();
  const Pull pulled = driver_.pull_here(out, want);
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin);
  return pulled;
}

Pull ChunkQueue::pop(Chunk& out) {
  if (driver_.keeps_input()) return Pull::values;
  std::unique_lock<std::mutex> lock;
  {
    // Waiting for the lock is waiting for the thread, which may have lost its core while it held it.
    const WaitWatch wait(run_.recorder());
    lock = hand_off_.lock();
  }
  driver_.start();
  if (chunks_.empty() && !hand_off_.over()) wait_for_chunks(lock);
  if (!hand_off_.goes_on()) return Pull::cancelled;
  if (chunks_.empty()) {
    if (!hand_off_.over()) {
      if (driver_.may_be_taken()) driver_.be_taken();
      return Pull::values;
    }
    hand_off_.throw_failure();
    return Pull::end;
  }
  out.swap(chunks_.front());
  if (spare_.size() < kQueueSpareChunksMax) spare_.push_back(std::move(chunks_.front()));
  chunks_.pop_front();
  elements_ -= out.slots();
  bytes_ -= out.held().bytes();
  if (out.has_error()) out.held().set(run_.memory(), out.bytes());
  publish_level();
  depth_.note_level(elements_, bytes_);
  if (chunks_.empty() || depth_.is_half_empty(elements_, bytes_)) {
    add_pulled();
    driver_.wake();
  }
  return Pull::values;
}

void ChunkQueue::set_depth(std::uint64_t depth) {
  const auto lock = hand_off_.lock();
  depth_.set(depth);
  driver_.wake();
}

void ChunkQueue::set_depth_knob(Knob& knob) {
  const auto lock = hand_off_.lock();
  depth_.set_knob(knob);
}

void ChunkQueue::publish_level() { counters_.buffered.set(elements_, bytes_); }

}  // namespace infeed::detail
