#include <algorithm>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/threads/clock.h"
#include "engine/threads/driver.h"
#include "interleave/inner_readers.h"

// The threads' side; that of the consumer is inner_readers.cc.
namespace infeed::detail {
namespace {

// A read that took longer was waiting for something: what it brought is handed over at once.
constexpr double kQuickReadUs = 20;

}  // namespace

/// As many inner datasets ahead as there are threads; while the cycle fills up, twice as many.
bool InnerReaders::wants_outer() const {
  if (hand_off_.finished()) return false;
  if (in_step_) return pending_.empty();
  const std::uint64_t threads = static_cast<std::uint64_t>(readers_wanted_);
  const std::uint64_t empty_slots = options_.cycle_length - open_in_cycle_;
  return pending_.size() < threads + std::min(threads, empty_slots);
}

void InnerReaders::wake_outer() {
  // Not for each inner dataset: they may be tiny.
  const bool low = 2 * pending_.size() <= static_cast<std::size_t>(readers_wanted_);
  if (low) outer_reader_.wake_one();
}

void InnerReaders::take_outer_element(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  auto inner = std::make_unique<InnerReadAhead>(outer_type_);
  ErrorPointer failure;
  Pull next = Pull::end;
  try {
    next = outer_.next(inner->element, inner->position);
  } catch (...) {
    failure = terminal_error();
  }
  lock.lock();
  if (next == Pull::values) {
    pending_.push_back(std::move(inner));
    readers_.wake_one();
    return;
  }
  if (next == Pull::cancelled) hand_off_.stop_locked();
  hand_off_.finish_locked(failure);
  outer_reader_.set_count(0);
}

InnerReadAhead* InnerReaders::claim() {
  InnerReadAhead* const inner = choose();
  if (inner == nullptr) return nullptr;
  inner->busy = true;
  ++busy_;
  return inner;
}

bool InnerReaders::is_wanted(const InnerReadAhead& inner) const {
  return wanted_ == &inner || awaited_ == Awaited::anything;
}

/// The inner dataset that needs work most: those of the cycle from the consumer's turn on, then those to
/// come.
InnerReadAhead* InnerReaders::first_in_need(bool only_empty) const {
  const auto needs = [only_empty](const InnerReadAhead& inner) {
    return inner.is_free() && (only_empty ? inner.ready.empty() : inner.is_low());
  };
  for (std::size_t i = 0, slot = turn_; i < cycle_.size(); ++i, ++slot) {
    if (slot >= cycle_.size()) slot = 0;
    if (cycle_[slot] != nullptr && needs(*cycle_[slot])) return cycle_[slot].get();
  }
  for (const auto& inner : pending_) {
    if (needs(*inner)) return inner.get();
  }
  return nullptr;
}

/// Finds what the consumer waits for; nothing while another reader is at work.
InnerReadAhead* InnerReaders::choose_in_step() const {
  if (busy_ != 0) return nullptr;
  if (wanted_ != nullptr) return wanted_->is_free() && wanted_->ready.empty() ? wanted_ : nullptr;
  if (awaited_ == Awaited::nothing) return nullptr;
  if (!pending_.empty() && !pending_.front()->opened) return pending_.front().get();
  return awaited_ == Awaited::anything ? first_in_need(true) : nullptr;
}

InnerReadAhead* InnerReaders::choose() const {
  if (in_step_) return choose_in_step();
  if (wanted_ != nullptr && wanted_->is_free() && wanted_->ready.empty()) return wanted_;
  if (awaited_ == Awaited::opening && !pending_.empty() && pending_.front()->is_free() &&
      !pending_.front()->opened) {
    return pending_.front().get();
  }
  if (memory_short_ && awaited_ != Awaited::anything) return nullptr;
  if (InnerReadAhead* const inner = first_in_need(true)) return inner;
  return memory_short_ ? nullptr : first_in_need(false);
}

bool InnerReaders::others_come_first(const InnerReadAhead& inner) const {
  if (awaited_ != Awaited::elements && awaited_ != Awaited::opening) return false;
  const InnerReadAhead* const first = choose();
  return wanted_ != &inner && first != nullptr && (first == wanted_ || !first->opened);
}

/// Throws what is terminal, and then its stream rests.
void InnerReaders::open_inner(NodePointer node, InnerReadAhead& inner, ErrorPointer& error) const {
  inner.stream = InnerStream(std::move(node), inner.position);
  try {
    opener_.open_again(inner.stream);
  } catch (...) {
    error = error_of_opening();
    inner.stream.close();
  }
}

/// False when there is no inner dataset.
bool InnerReaders::open_element(std::unique_lock<std::mutex>& lock, InnerReadAhead& inner) {
  const bool was_in_step = in_step_;
  lock.unlock();
  const std::uint64_t begin = ticks_now();
  ErrorPointer error = inner.element.take_error();
  ErrorPointer failure;
  NodePointer node;
  if (error == nullptr) {
    try {
      node = opener_.describe(inner.element);
    } catch (...) {
      error = current_error();
    }
  }
  try {
    if (node != nullptr) open_inner(std::move(node), inner, error);
  } catch (...) {
    failure = terminal_error();
  }
  StageCounters::add(counters_.work_ticks, ticks_now() - begin);
  lock.lock();
  inner.error = std::move(error);
  const bool has_failed = failure != nullptr;
  if (has_failed) note_failure(lock, inner, std::move(failure), was_in_step);
  inner.opened = true;
  if (awaited_ == Awaited::opening || awaited_ == Awaited::anything) ready_.wake_one();
  return inner.error == nullptr && !has_failed;
}

void InnerReaders::work_on(std::unique_lock<std::mutex>& lock, InnerReadAhead& inner) {
  if (inner.opened ||
      (open_element(lock, inner) && !hand_off_.stopped() && !others_come_first(inner))) {
    Chunk chunk = take_spare();
    while (read_once(lock, inner, chunk) && inner.has_room() && !others_come_first(inner) &&
           !in_step_) {
    }
    give_spare(std::move(chunk));
  }
  inner.busy = false;
  --busy_;
}

/// Memory that was refused while others are read ahead isn't the end: false where it is tried again
/// in step with the consumer, as it was not when it was begun.
bool InnerReaders::note_failure(std::unique_lock<std::mutex>& lock, InnerReadAhead& inner,
                                ErrorPointer failure, bool was_in_step) {
  if (was_in_step || failure->code() != ErrorCode::resource_exhausted) {
    inner.failure = std::move(failure);
    return true;
  }
  in_step_ = true;
  std::vector<std::unique_ptr<Stage>> over;
  over.push_back(step_back(inner, 0));
  for (const auto& other : cycle_) {
    if (other != nullptr && !other->busy && !other->ready.empty())
      over.push_back(step_back(*other, 0));
  }
  for (const auto& other : pending_) {
    if (!other->busy) over.push_back(step_back(*other, 0));
  }
  lock.unlock();
  over.clear();
  lock.lock();
  return false;
}

/// To where the consumer is, who has got neither what is ready nor the last `unread` elements. Returns
/// its stages, to be dropped without the lock.
std::unique_ptr<Stage> InnerReaders::step_back(InnerReadAhead& inner, std::uint64_t unread) {
  if (!inner.stream.is_open() || inner.ended) return nullptr;
  const std::uint64_t given = inner.stream.given() - inner.ready_elements - unread;
  elements_ -= inner.ready_elements;
  bytes_ -= inner.ready_bytes;
  inner.drop_ready();
  publish_level();
  return inner.stream.rest_behind(given);
}

/// How many elements to ask for; none when there is no memory and nobody waits for them.
InnerReaders::Grant InnerReaders::reserve(const InnerReadAhead& inner) {
  // To the consumer alone goes what is no more than a page, or one element.
  constexpr std::uint64_t kBytesWhenShort = 4096;
  const bool goes_on = is_wanted(inner) && inner.ready.empty();
  if (in_step_) return {.want = goes_on ? std::size_t{1} : 0, .held = {}};
  const bool owns_more = type_.payload_bytes_run != nullptr;
  if (owns_more && bytes_per_element_ == 0) return {.want = 1, .held = {}};
  const std::uint64_t each = std::max<std::uint64_t>({bytes_per_element_, type_.size, 1});
  const std::uint64_t room =
      InnerReadAhead::kReadyBytes - std::min(InnerReadAhead::kReadyBytes, inner.ready_bytes);
  const std::uint64_t want = std::clamp<std::uint64_t>(room / each, 1, chunk_capacity(type_));
  for (const std::uint64_t count : {want, std::uint64_t{1}}) {
    HeldBytes held;
    if (held.try_grow_to(run_.memory(), count * each))
      return {.want = static_cast<std::size_t>(count), .held = std::move(held)};
  }
  memory_short_ = true;
  const std::uint64_t when_short =
      std::clamp<std::uint64_t>(kBytesWhenShort / each, 1, chunk_capacity(type_));
  return {.want = goes_on ? static_cast<std::size_t>(when_short) : 0, .held = {}};
}

/// False when there is no more to read now.
bool InnerReaders::read_once(std::unique_lock<std::mutex>& lock, InnerReadAhead& inner,
                             Chunk& chunk) {
  Grant grant = reserve(inner);
  if (grant.want == 0) return false;
  const bool was_in_step = in_step_;
  lock.unlock();
  const std::uint64_t begin = ticks_now();
  Pull pulled = Pull::values;
  ErrorPointer failure;
  try {
    if (inner.stream.rests()) opener_.open_again(inner.stream);
    pulled = inner.stream.pull(chunk, grant.want);
  } catch (...) {
    failure = terminal_error();
  }
  const bool quick = ticks_now() - begin < ticks_of_us(kQuickReadUs);
  const bool whole = chunk.slots() == grant.want;
  chunk.held().release();  // what another stage held of it
  chunk.held() = std::move(grant.held);
  chunk.held().set(run_.memory(), chunk.bytes());
  InnerPlaces places;
  if (pulled == Pull::values && run_.recorder() != nullptr) places = inner.stream.places();
  if (pulled == Pull::end) inner.stream.close();
  lock.lock();
  if (pulled == Pull::cancelled) hand_off_.stop_locked();
  const bool is_unwanted = in_step_ && !is_wanted(inner);  // it was begun while there was room
  if (hand_off_.stopped() || (is_unwanted && pulled != Pull::end)) {
    const std::unique_ptr<Stage> over = is_unwanted ? step_back(inner, chunk.slots()) : nullptr;
    lock.unlock();
    chunk.clear();
    lock.lock();
    return false;
  }
  if (failure != nullptr && !note_failure(lock, inner, std::move(failure), was_in_step))
    return false;
  inner.ended = pulled == Pull::end;
  const bool over = inner.ended || inner.failure != nullptr;
  publish(inner, chunk, std::move(places));
  const bool for_anything = awaited_ == Awaited::anything;
  const bool waited_for = for_anything || wanted_ == &inner;
  const bool at_once = for_anything || in_step_ || memory_short_ || !collects_ || !quick ||
                       !whole || !inner.is_low() || over;
  if (waited_for && at_once) ready_.wake_one();
  return !over;
}

/// Puts what was read, maybe nothing, behind what is ready.
void InnerReaders::publish(InnerReadAhead& inner, Chunk& chunk, InnerPlaces places) {
  const std::uint64_t elements = chunk.slots();
  const std::uint64_t bytes = chunk.held().bytes();
  if (elements == 0) return;
  const std::uint64_t each = bytes / elements;
  bytes_per_element_ = bytes_per_element_ == 0 ? each : (3 * bytes_per_element_ + each) / 4;
  inner.ready_bytes += bytes;
  inner.ready_elements += elements;
  bytes_ += bytes;
  elements_ += elements;
  publish_level();
  // What is recorded keeps the places of each read.
  const bool may_merge = run_.recorder() == nullptr && !inner.ready.empty();
  if (run_.recorder() != nullptr) inner.ready_places.push_back(std::move(places));
  Chunk* const last = may_merge ? &inner.ready.back() : nullptr;
  if (last != nullptr && !last->has_error() && last->room() >= chunk.size()) {
    last->held().take_from(chunk.held());
    last->append_from(chunk, chunk.size());
    if (chunk.has_error()) last->set_error(chunk.take_error());
    return;
  }
  inner.ready.push_back(std::move(chunk));
  chunk = take_spare();
}

}  // namespace infeed::detail
