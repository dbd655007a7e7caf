#include <algorithm>

#include <infeed/pipeline/detail/errors_in_flight.h>

#include "engine/threads/driver.h"
#include "engine/threads/name_thread.h"
#include "interleave/inner_readers.h"

// The threads' side; that of the consumer is inner_readers.cc.
namespace infeed::detail {
namespace {

// A read that took longer was waiting for something: what it brought is handed over at once.
constexpr double kQuickReadUs = 20;

}  // namespace

void InnerReaders::run_thread(void (InnerReaders::*body)(std::unique_lock<std::mutex>&)) {
  name_thread("interleave");
  std::unique_lock lock(mutex_);
  try {
    (this->*body)(lock);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    broken_ = terminal_error();
    ready_.notify_one();
  }
}

/// As many inner datasets ahead as there are threads; while the cycle fills up, twice as many.
bool InnerReaders::wants_outer() const {
  const std::uint64_t threads = static_cast<std::uint64_t>(options_.threads);
  const std::uint64_t empty_slots = options_.cycle_length - open_in_cycle_;
  return pending_.size() < threads + std::min(threads, empty_slots);
}

void InnerReaders::wake_outer() {
  // Not for each inner dataset: they may be tiny.
  const bool low = 2 * pending_.size() <= static_cast<std::size_t>(options_.threads);
  if (low && wants_outer()) outer_room_.notify_one();
}

void InnerReaders::take_outer_elements(std::unique_lock<std::mutex>& lock) {
  while (!stopped_ && !outer_ended_) {
    if (!wants_outer()) {
      outer_room_.wait(lock);
      continue;
    }
    lock.unlock();
    auto feed = std::make_unique<InnerReadAhead>(run_.memory(), outer_type_);
    ErrorPointer failure;
    Pull next = Pull::end;
    try {
      next = outer_.next(feed->element, feed->position);
    } catch (...) {
      failure = terminal_error();
    }
    lock.lock();
    if (next == Pull::values) {
      pending_.push_back(std::move(feed));
      wake_reader();
      continue;
    }
    if (next == Pull::cancelled) stopped_ = true;
    outer_ended_ = true;
    outer_failure_ = failure;
    ready_.notify_one();
  }
}

void InnerReaders::read_feeds(std::unique_lock<std::mutex>& lock) {
  while (!stopped_) {
    if (InnerReadAhead* const feed = choose()) {
      work_on(lock, *feed);
      continue;
    }
    ++idle_;
    work_.wait(lock);
    --idle_;
    reader_wakes_ = false;
  }
}

bool InnerReaders::is_wanted(const InnerReadAhead& feed) const {
  return wanted_ == &feed || wants_any_;
}

/// The feed that needs work most: those of the cycle from the consumer's turn on, then those to
/// come.
InnerReadAhead* InnerReaders::first_feed(bool only_empty) const {
  const auto needs = [only_empty](const InnerReadAhead& feed) {
    return feed.is_free() && (only_empty ? feed.ready.empty() : feed.is_low());
  };
  for (std::size_t i = 0, slot = turn_; i < cycle_.size(); ++i, ++slot) {
    if (slot >= cycle_.size()) slot = 0;
    if (cycle_[slot] != nullptr && needs(*cycle_[slot])) return cycle_[slot];
  }
  for (const auto& feed : pending_) {
    if (needs(*feed)) return feed.get();
  }
  return nullptr;
}

InnerReadAhead* InnerReaders::choose() const {
  if (wanted_ != nullptr && wanted_->is_free() && wanted_->ready.empty()) return wanted_;
  if (wants_open_ && !pending_.empty() && pending_.front()->is_free() &&
      !pending_.front()->opened) {
    return pending_.front().get();
  }
  if (memory_short_ && !wants_any_) return nullptr;
  if (InnerReadAhead* const feed = first_feed(true)) return feed;
  return memory_short_ ? nullptr : first_feed(false);
}

bool InnerReaders::others_come_first(const InnerReadAhead& feed) const {
  if (wanted_ == nullptr && !wants_open_) return false;
  const InnerReadAhead* const first = choose();
  return wanted_ != &feed && first != nullptr && (first == wanted_ || !first->opened);
}

InnerStream InnerReaders::open_inner(NodePointer node, std::uint64_t position,
                                     ErrorPointer& error) const {
  try {
    return opener_.open(std::move(node), position);
  } catch (...) {
    error = error_of_opening();
    return {};
  }
}

/// False when there is no inner dataset.
bool InnerReaders::open_feed(std::unique_lock<std::mutex>& lock, InnerReadAhead& feed) {
  lock.unlock();
  const std::uint64_t begin = ticks_now();
  ErrorPointer error = feed.element.take_error();
  ErrorPointer failure;
  NodePointer node;
  if (error == nullptr) {
    try {
      node = opener_.describe(feed.element);
    } catch (...) {
      error = current_error();
    }
  }
  try {
    if (node != nullptr) feed.stream = open_inner(std::move(node), feed.position, error);
  } catch (...) {
    failure = terminal_error();
  }
  StageCounters::add(counters_.work_ticks, ticks_now() - begin);
  lock.lock();
  feed.error = std::move(error);
  feed.failure = std::move(failure);
  feed.opened = true;
  if (wants_open_ || wants_any_) ready_.notify_one();
  return feed.error == nullptr && feed.failure == nullptr;
}

void InnerReaders::work_on(std::unique_lock<std::mutex>& lock, InnerReadAhead& feed) {
  feed.busy = true;
  if (choose() != nullptr) wake_reader();
  if (feed.opened || (open_feed(lock, feed) && !stopped_ && !others_come_first(feed))) {
    Chunk chunk = take_spare();
    while (read_once(lock, feed, chunk) && feed.has_room() && !others_come_first(feed)) {
    }
    give_spare(std::move(chunk));
  }
  feed.busy = false;
}

/// How many elements to ask for; none when there is no memory and nobody waits for them.
InnerReaders::Grant InnerReaders::reserve(const InnerReadAhead& feed) {
  const bool owns_more = type_.payload_bytes_run != nullptr;
  if (owns_more && bytes_per_element_ == 0) return {.want = 1, .reserved_bytes = 0};
  const std::uint64_t each = std::max<std::uint64_t>({bytes_per_element_, type_.size, 1});
  const std::uint64_t room =
      InnerReadAhead::kReadyBytes - std::min(InnerReadAhead::kReadyBytes, feed.ready_bytes);
  const std::uint64_t want = std::clamp<std::uint64_t>(room / each, 1, chunk_capacity(type_));
  for (const std::uint64_t count : {want, std::uint64_t{1}}) {
    if (!run_.memory().try_reserve_best_effort(count * each)) continue;
    granted_bytes_ += count * each;
    return {.want = static_cast<std::size_t>(count), .reserved_bytes = count * each};
  }
  memory_short_ = true;
  return {.want = is_wanted(feed) ? std::size_t{1} : 0, .reserved_bytes = 0};
}

/// False when there is no more to read now.
bool InnerReaders::read_once(std::unique_lock<std::mutex>& lock, InnerReadAhead& feed,
                             Chunk& chunk) {
  const Grant grant = reserve(feed);
  if (grant.want == 0) return false;
  lock.unlock();
  const std::uint64_t begin = ticks_now();
  Pull pulled = Pull::values;
  ErrorPointer failure;
  try {
    pulled = feed.stream.pull(chunk, grant.want);
  } catch (...) {
    failure = terminal_error();
  }
  const bool quick = ticks_now() - begin < ticks_of_us(kQuickReadUs);
  const bool whole = chunk.slots() == grant.want;
  const std::uint64_t bytes = chunk.bytes();
  if (pulled == Pull::end) feed.stream.close();
  lock.lock();
  if (pulled == Pull::cancelled) stopped_ = true;
  feed.failure = std::move(failure);
  if (stopped_) {
    lock.unlock();
    chunk.clear();
    lock.lock();
    return false;
  }
  granted_bytes_ -= grant.reserved_bytes;
  feed.ended = pulled == Pull::end;
  const bool over = feed.ended || feed.failure != nullptr;
  publish(feed, chunk, bytes, grant);
  const bool waited_for = wants_any_ || wanted_ == &feed;
  const bool at_once = wants_any_ || !gathers_ || !quick || !whole || !feed.is_low() || over;
  if (waited_for && at_once) ready_.notify_one();
  return !over;
}

/// Puts what was read, maybe nothing, behind what is ready, and corrects the reservation.
void InnerReaders::publish(InnerReadAhead& feed, Chunk& chunk, std::uint64_t bytes,
                           const Grant& grant) {
  std::uint64_t reserved = grant.reserved_bytes;
  if (reserved > bytes) {
    run_.memory().release_best_effort(reserved - bytes);
    reserved = bytes;
  } else if (reserved < bytes && run_.memory().try_reserve_best_effort(bytes - reserved)) {
    reserved = bytes;
  }
  feed.reserved_bytes += reserved;
  const std::uint64_t elements = chunk.slots();
  if (elements == 0) return;
  const std::uint64_t each = bytes / elements;
  bytes_per_element_ = bytes_per_element_ == 0 ? each : (3 * bytes_per_element_ + each) / 4;
  feed.ready_bytes += bytes;
  feed.ready_elements += elements;
  bytes_ += bytes;
  elements_ += elements;
  publish_level();
  Chunk* const last = feed.ready.empty() ? nullptr : &feed.ready.back();
  if (last != nullptr && !last->has_error() && last->room() >= chunk.size()) {
    last->append_from(chunk, chunk.size());
    if (chunk.has_error()) last->set_error(chunk.take_error());
    return;
  }
  feed.ready.push_back(std::move(chunk));
  chunk = take_spare();
}

}  // namespace infeed::detail
