#include <algorithm>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/threads/clock.h"
#include "interleave/inner_readers.h"

// The threads' side. The consumer's side is in inner_readers.cc.
namespace infeed::detail {
namespace {

// A read that took longer has waited for something, so its elements are handed over at once.
constexpr double kQuickReadUs = 20;

}  // namespace

bool InnerReaders::wants_outer() const {
  return !hand_off_.finished() && ahead_.wants_outer(static_cast<std::uint64_t>(readers_wanted_));
}

void InnerReaders::wake_outer() {
  // Wakes only when few are left, not for each inner dataset: they may be tiny.
  const bool low = 2 * ahead_.to_come() <= static_cast<std::size_t>(readers_wanted_);
  if (low) outer_reader_.wake_one();
}

void InnerReaders::take_outer_element(Lock& lock) {
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
    ahead_.add(std::move(inner));
    readers_.wake_one();
    return;
  }
  if (next == Pull::cancelled) hand_off_.stop_locked();
  hand_off_.finish_locked(failure);
  outer_reader_.set_count(0);
}

/// Opens the inner dataset. After a terminal exception its stream rests.
void InnerReaders::open_inner(NodePointer node, InnerReadAhead& inner, ErrorPointer& error) const {
  inner.stream = InnerStream(std::move(node), inner.position);
  try {
    opener_.open_again(inner.stream);
  } catch (...) {
    error = error_of_opening();
    inner.stream.close();
  }
}

/// Opens the outer element's inner dataset. Returns false if there is none to read now.
bool InnerReaders::open_element(Lock& lock, InnerReadAhead& inner) {
  const bool was_in_step = ahead_.is_in_step();
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
  StageCounters::add(counters_.work_time.ticks, ticks_now() - begin);
  lock.lock();
  inner.error = std::move(error);
  const bool has_failed = failure != nullptr;
  if (has_failed) note_failure(lock, inner, std::move(failure), was_in_step);
  const bool was_ahead = ahead_.is_in_step() && !was_in_step;
  if (was_ahead) {
    std::unique_ptr<Stage> over = step_back(inner, 0);
    lock.unlock();
    over = nullptr;
    lock.lock();
  }
  inner.opened = true;
  const Awaited awaited = ahead_.awaited();
  if (awaited == Awaited::opening || awaited == Awaited::anything) ready_.wake_one();
  return inner.error == nullptr && !has_failed && !was_ahead;
}

void InnerReaders::work_on(Lock& lock, InnerReadAhead& inner) {
  if (inner.opened ||
      (open_element(lock, inner) && !hand_off_.stopped() && !ahead_.others_come_first(inner))) {
    Chunk chunk = buffers_.take_spare();
    while (read_once(lock, inner, chunk) && inner.has_room() && !ahead_.others_come_first(inner) &&
           !ahead_.is_in_step()) {
    }
    buffers_.give_spare(std::move(chunk));
  }
  ahead_.release(inner);
}

/// Notes a failure. Memory that was refused while others are read ahead isn't final: then it
/// returns false, and the work is tried again in step with the consumer, unless it was begun in
/// step.
bool InnerReaders::note_failure(Lock& lock, InnerReadAhead& inner, ErrorPointer failure,
                                bool was_in_step) {
  if (was_in_step || failure->code() != ErrorCode::resource_exhausted) {
    inner.failure = std::move(failure);
    return true;
  }
  ahead_.go_in_step();
  std::vector<std::unique_ptr<Stage>> over;
  over.push_back(step_back(inner, 0));
  ahead_.for_each([&](InnerReadAhead& other, bool) {
    if (!other.busy) over.push_back(step_back(other, 0));
  });
  lock.unlock();
  over.clear();
  lock.lock();
  return false;
}

/// Moves an inner dataset back to where the consumer is, which has taken neither the ready elements
/// nor the last `unread` ones. Returns its stages, which must be dropped without the lock. One that is
/// over isn't read again: it keeps its ready elements, which come before its end or its failure.
std::unique_ptr<Stage> InnerReaders::step_back(InnerReadAhead& inner, std::uint64_t unread) {
  if (!inner.stream.is_open() || inner.ended || inner.failure != nullptr) return nullptr;
  const std::uint64_t given = inner.stream.given() - inner.ready_elements - unread;
  buffers_.drop(inner);
  return inner.stream.rest_behind(given);
}

/// Returns an empty grant if there is no memory and nobody waits for it.
InnerBuffers::Grant InnerReaders::grant(const InnerReadAhead& inner) {
  const bool goes_on = ahead_.is_wanted(inner) && inner.ready.empty();
  if (ahead_.is_in_step()) return {.want = goes_on ? std::size_t{1} : 0, .held = {}};
  InnerBuffers::Grant grant = buffers_.reserve(inner);
  if (grant.want != 0) return grant;
  ahead_.set_memory_short(true);
  return {.want = goes_on ? buffers_.elements_when_short() : 0, .held = {}};
}

/// Returns false if there is no more to read now.
bool InnerReaders::read_once(Lock& lock, InnerReadAhead& inner, Chunk& chunk) {
  InnerBuffers::Grant granted = grant(inner);
  if (granted.want == 0) return false;
  const bool was_in_step = ahead_.is_in_step();
  lock.unlock();
  const std::uint64_t begin = ticks_now();
  Pull pulled = Pull::values;
  ErrorPointer failure;
  try {
    if (inner.stream.rests()) opener_.open_again(inner.stream);
    pulled = inner.stream.pull(chunk, granted.want);
  } catch (...) {
    failure = terminal_error();
    inner.stream.rest_behind(inner.stream.given());  // its memory may keep others from being read
  }
  const bool quick = ticks_now() - begin < ticks_of_us(kQuickReadUs);
  const bool whole = chunk.slots() == granted.want;
  chunk.held().release();  // another stage's share of it
  chunk.held() = std::move(granted.held);
  chunk.held().set(run_.memory(), buffers_.bytes_when_ready(chunk));
  InnerPlaces places;
  if (pulled == Pull::values && run_.keeps_places()) places = inner.stream.places();
  if (pulled == Pull::end) inner.stream.close();
  lock.lock();
  if (pulled == Pull::cancelled) hand_off_.stop_locked();
  const bool was_ahead = ahead_.is_in_step() && !was_in_step;
  if (hand_off_.stopped() || (was_ahead && pulled != Pull::end)) {
    std::unique_ptr<Stage> over = was_ahead ? step_back(inner, chunk.slots()) : nullptr;
    lock.unlock();
    over = nullptr;
    chunk.clear();
    lock.lock();
    return false;
  }
  if (failure != nullptr && !note_failure(lock, inner, std::move(failure), was_in_step))
    return false;
  inner.ended = pulled == Pull::end;
  const bool over = inner.ended || inner.failure != nullptr;
  buffers_.add(inner, chunk, std::move(places));
  const bool at_once = ahead_.awaited() == Awaited::anything || ahead_.is_in_step() ||
                       ahead_.is_memory_short() || !collects_ || !quick || !whole ||
                       !inner.is_low() || over;
  if (ahead_.is_wanted(inner) && at_once) ready_.wake_one();
  return !over;
}

}  // namespace infeed::detail
