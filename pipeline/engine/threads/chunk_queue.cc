#include "engine/threads/chunk_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/recording/call_watch.h"
#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kQueueSpareChunksMax = 4;
constexpr auto kCollectChunks = std::chrono::microseconds(200);
// To be woken takes 20 to 60 us. Up to here the queue doubles to have fewer hand-overs; beyond, to bridge
// what is longer than they are, where that is a 32nd of all time: a core that was lost for once is not
// worth a MiB.
constexpr std::uint64_t kDepthForHandOvers = 32;
constexpr double kStallUs = 200;
constexpr std::uint64_t kStallsPart = 32;

}  // namespace

ChunkQueue::ChunkQueue(IteratorContext& run, StageCounters& counters, const TypeInfo& type,
                       const QueueLimits& limits, std::function<void()> on_ready)
    : run_(run),
      counters_(counters),
      type_(type),
      on_ready_(std::move(on_ready)),
      limits_(limits),
      in_hand_(run.memory(), type.size) {
  publish_limits();
}

ChunkQueue::~ChunkQueue() {
  chunks_.clear();
  elements_ = bytes_ = 0;
  publish_level();
}

bool ChunkQueue::admits(std::uint64_t elements, std::uint64_t bytes) const {
  return elements_ + elements <= limits_.elements_max || bytes_ + bytes <= limits_.bytes_max;
}

/// Returns how many elements the producer may pull; 0 as long as there is no room.
std::size_t ChunkQueue::elements_with_room(std::size_t elements_max) {
  const std::uint64_t by_count =
      limits_.elements_max > elements_ ? limits_.elements_max - elements_ : 0;
  const std::uint64_t by_bytes =
      limits_.bytes_max > bytes_
          ? (limits_.bytes_max - bytes_) / std::max<std::size_t>(1, type_.size)
          : 0;
  const std::uint64_t most = std::max<std::uint64_t>({1, by_count, by_bytes});
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(most, elements_max));
  for (const std::size_t count : {wanted, std::size_t{1}}) {
    if (in_hand_.try_expect(count)) return count;
  }
  return is_wanted_ && chunks_.empty() ? 1 : 0;
}

/// The producer, until the consumer takes something.
void ChunkQueue::wait_for_consumer(std::unique_lock<std::mutex>& lock,
                                   const std::function<bool()>& is_admitted) {
  const std::uint64_t begin = ticks_now();
  // Without room nothing more comes: a consumer that waits for several chunks takes those there are.
  if (wake_at_ != 0 && !chunks_.empty()) {
    wake_at_ = 0;
    values_.wake_one();
  }
  do {
    producer_waits_ = true;
    room_.wait_once(lock);
  } while (!is_admitted());
  producer_waits_ = false;
  StageCounters::add(counters_.full_ticks, ticks_now() - begin);
  push_ticks_ = 0;  // the interval that ends here was not the producer's own
}

std::size_t ChunkQueue::wait_for_room(std::size_t elements_max) {
  auto lock = hand_off_.lock();
  std::size_t elements = 0;
  const auto is_admitted = [&] {
    if (hand_off_.stopped()) return true;
    elements = elements_with_room(elements_max);
    return elements != 0;
  };
  if (!is_admitted()) wait_for_consumer(lock, is_admitted);
  return hand_off_.stopped() ? 0 : elements;
}

void ChunkQueue::note_interval() {
  const std::uint64_t now = ticks_now();
  if (push_ticks_ != 0) interval_ticks_ = (interval_ticks_ * 3 + (now - push_ticks_)) / 4;
  push_ticks_ = now;
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

bool ChunkQueue::push(Chunk& chunk) {
  const std::uint64_t elements = chunk.slots();
  const std::uint64_t bytes = chunk.bytes();
  auto lock = hand_off_.lock();
  in_hand_.hold(chunk, bytes);
  const auto is_admitted = [&] {
    return hand_off_.stopped() || chunks_.empty() || admits(elements, bytes);
  };
  if (!is_admitted()) {
    was_full_ = true;
    wait_for_consumer(lock, is_admitted);
  }
  if (hand_off_.stopped()) return false;
  note_interval();
  if (chunks_.empty()) tell_ready();
  is_wanted_ = false;
  elements_ += elements;
  bytes_ += bytes;
  if (!merge_into_last(chunk)) {
    Chunk empty = [&] {
      if (spare_.empty()) return Chunk(type_, chunk.capacity());
      Chunk spare = std::move(spare_.back());
      spare_.pop_back();
      return spare;
    }();
    empty.swap(chunk);
    empty.held().take_from(in_hand_.held());
    chunks_.push_back(std::move(empty));
  }
  publish_level();
  const bool half_full = 2 * elements_ >= limits_.elements_max && 2 * bytes_ >= limits_.bytes_max;
  if (wake_at_ != 0 && (chunks_.size() >= wake_at_ || half_full)) {
    wake_at_ = 0;
    lock.unlock();
    values_.wake_one();
  }
  return true;
}

/// False when there will be no chunk.
bool ChunkQueue::wait_for_chunks(std::unique_lock<std::mutex>& lock) {
  const bool was_full = std::exchange(was_full_, false);
  is_wanted_ = true;
  if (producer_waits_) room_.wake_one();
  const WaitWatch wait(run_.recorder());
  const std::uint64_t begin = ticks_now();
  const std::uint64_t collecting_ticks =
      ticks_of_us(std::chrono::microseconds(kCollectChunks).count());
  const std::uint64_t arriving = interval_ticks_ == 0 ? 1 : collecting_ticks / interval_ticks_;
  while (chunks_.empty() && !hand_off_.over() && !turn_.driver_rests()) {
    wake_at_ = std::clamp<std::size_t>(static_cast<std::size_t>(arriving), 1, 16);
    if (wake_at_ == 1) {
      values_.wait_once(lock);
    } else {
      // Should fewer come than expected, those that are here don't wait for the others.
      values_.wait_once_for(lock, kCollectChunks);
    }
  }
  wake_at_ = 0;
  const std::uint64_t waited_ticks = ticks_now() - begin;
  if (grew_at_ticks_ == 0) grew_at_ticks_ = begin;
  StageCounters::add(counters_.wait_ticks, waited_ticks);
  if (was_full && limits_.adaptive && is_worth_more(waited_ticks)) double_depth();
  return !chunks_.empty();
}

/// Whether the queue should hold more, since it was full and then kept the consumer waiting.
bool ChunkQueue::is_worth_more(std::uint64_t waited_ticks) {
  if (limits_.elements_max < kDepthForHandOvers) return true;
  if (waited_ticks <= ticks_of_us(kStallUs)) return false;
  stalled_ticks_ += waited_ticks;
  return kStallsPart * stalled_ticks_ >= ticks_now() - grew_at_ticks_;
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

bool ChunkQueue::wait_until_ready(std::chrono::steady_clock::time_point deadline,
                                  const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const auto lock = hand_off_.lock();
    values_.wake_all();
  });
  auto lock = hand_off_.lock();
  const WaitWatch wait(run_.recorder());
  const std::uint64_t begin = ticks_now();
  bool in_time = deadline > std::chrono::steady_clock::time_point{};
  is_wanted_ = chunks_.empty();
  if (is_wanted_ && producer_waits_) room_.wake_one();
  while (chunks_.empty() && !hand_off_.over() && in_time && !stop.stop_requested()) {
    wake_at_ = 1;
    in_time = values_.wait_once_until(lock, deadline);
  }
  wake_at_ = 0;
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin);
  return !chunks_.empty() || hand_off_.over();
}

Pull ChunkQueue::pop(Chunk& out) {
  auto lock = hand_off_.lock();
  if (chunks_.empty() && !hand_off_.over()) wait_for_chunks(lock);
  if (hand_off_.stopped()) return Pull::cancelled;
  if (chunks_.empty()) {
    if (!hand_off_.over()) {
      turn_.take();
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
  publish_level();
  if (depth_knob_ != nullptr) {
    depth_knob_->note_low(
        static_cast<std::int64_t>(std::max(elements_, bytes_ / QueueLimits::kBytesPerDepth)));
  }
  const bool half_empty = 2 * elements_ <= limits_.elements_max || 2 * bytes_ <= limits_.bytes_max;
  if (producer_waits_ && (half_empty || chunks_.empty())) {
    producer_waits_ = false;
    lock.unlock();
    room_.wake_one();
  }
  return Pull::values;
}

void ChunkQueue::double_depth() {
  const std::uint64_t most = depth_knob_ == nullptr
                                 ? QueueLimits::kAdaptiveDepthMax
                                 : static_cast<std::uint64_t>(depth_knob_->max());
  stalled_ticks_ = 0;
  grew_at_ticks_ = ticks_now();
  if (2 * limits_.elements_max > most) return;
  limits_ = QueueLimits::of_depth(2 * limits_.elements_max, true);
  if (depth_knob_ != nullptr) {
    depth_knob_->note_value(static_cast<std::int64_t>(limits_.elements_max));
  }
  publish_limits();
}

void ChunkQueue::set_depth(std::uint64_t depth) {
  const auto lock = hand_off_.lock();
  limits_ = QueueLimits::of_depth(depth, limits_.adaptive);
  was_full_ = false;
  publish_limits();
  room_.wake_one();
}

void ChunkQueue::set_depth_knob(Knob& knob) {
  const auto lock = hand_off_.lock();
  depth_knob_ = &knob;
}

void ChunkQueue::set_serial(bool serial) {
  const auto lock = hand_off_.lock();
  turn_.set_serial(serial);
}

void ChunkQueue::publish_level() { counters_.note_buffered(elements_, bytes_); }
void ChunkQueue::publish_limits() {
  counters_.note_queue_limits(limits_.elements_max, limits_.bytes_max, limits_.adaptive);
}

}  // namespace infeed::detail
