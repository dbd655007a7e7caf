#include "feed_threads.h"

#include <algorithm>
#include <chrono>

#include "driver.h"

namespace infeed::detail {
namespace {

// What is kept ready of one inner dataset: so much, or two elements where that is more. Handing
// over less would cost a thread switch (21 us) each time.
constexpr std::uint64_t kReadyBytes = 32 * 1024;
constexpr std::uint64_t kReadyElements = 2;
constexpr std::size_t kSpareChunksMax = 16;
constexpr auto kGather = std::chrono::microseconds(200);
// A read that took longer was waiting for something: what it brought is handed over at once.
constexpr double kQuickReadUs = 20;

bool has_room(const SharedFeed& feed) {
  return feed.ready_bytes < kReadyBytes || feed.ready_elements < kReadyElements;
}
bool is_low(const SharedFeed& feed) {
  return 2 * feed.ready_bytes < kReadyBytes || feed.ready_elements < kReadyElements;
}
bool can_be_read(const SharedFeed& feed) {
  return !feed.opening && !feed.busy && !feed.ended && feed.error == nullptr;
}

}  // namespace

FeedThreads::FeedThreads(RunContext& run, StageCounters& counters, const TypeInfo& type,
                         const TypeInfo& outer_type, OuterInput& outer, const InnerOpener& opener,
                         const FeedThreadsOptions& options)
    : run_(run),
      counters_(counters),
      type_(type),
      outer_type_(outer_type),
      outer_(outer),
      opener_(opener),
      options_(options) {}

FeedThreads::~FeedThreads() {
  stop();
  for (std::thread& thread : threads_) thread.join();
  elements_ = bytes_ = 0;
  publish_level();
}

std::unique_ptr<InnerFeed> FeedThreads::adopt(std::size_t slot, std::unique_ptr<InnerFeed> feed) {
  auto shared = std::make_unique<SharedFeed>(run_.memory(), std::move(feed->stream));
  place(slot, *shared);
  return shared;
}

void FeedThreads::start() {
  threads_.reserve(static_cast<std::size_t>(options_.threads));
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this] {
      name_thread("interleave");
      work();
    });
  }
}

void FeedThreads::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  work_.notify_all();
  ready_.notify_all();
}

void FeedThreads::place(std::size_t slot, SharedFeed& feed) {
  if (cycle_.size() <= slot) cycle_.resize(slot + 1, nullptr);
  cycle_[slot] = &feed;
  feed.slot = slot;
  ++open_in_cycle_;
}

void FeedThreads::publish_level() {
  counters_.buffered_elements.store(elements_, std::memory_order_relaxed);
  counters_.buffered_bytes.store(bytes_, std::memory_order_relaxed);
}

// ---- the consumer's side

Supply FeedThreads::open(std::size_t slot, std::unique_ptr<InnerFeed>& feed, ErrorPointer& error) {
  std::unique_lock lock(mutex_);
  const std::uint64_t begin = ticks_now();
  bool waited = false;
  while (true) {
    if (broken_ != nullptr) std::rethrow_exception(broken_);
    if (stopped_) return Supply::cancelled;
    const auto limit =
        options_.ordered && !pending_.empty() ? pending_.begin() + 1 : pending_.end();
    const auto opened = std::find_if(pending_.begin(), limit,
                                     [](const auto& candidate) { return !candidate->opening; });
    if (opened != limit) {
      std::unique_ptr<SharedFeed> taken = std::move(*opened);
      pending_.erase(opened);
      error = taken->error;
      if (error == nullptr) {
        place(slot, *taken);
        feed = std::move(taken);
      }
      wake_worker();
      break;
    }
    if (pending_.empty() && outer_ended_) {
      if (outer_failure_ != nullptr) std::rethrow_exception(outer_failure_);
      return Supply::end;
    }
    if (!options_.ordered) {
      open_was_refused_ = true;
      return Supply::not_yet;
    }
    waited = wants_open_ = true;
    wake_worker();
    ready_.wait(lock);
    wants_open_ = false;
  }
  if (waited) StageCounters::add(counters_.wait_ticks, ticks_now() - begin);
  return Supply::values;
}

Supply FeedThreads::refill(InnerFeed& feed, Chunk& out) {
  auto& shared = static_cast<SharedFeed&>(feed);
  std::unique_lock lock(mutex_);
  turn_ = shared.slot;
  const std::uint64_t begin = ticks_now();
  bool waited = false;
  while (shared.ready.empty()) {
    if (broken_ != nullptr) std::rethrow_exception(broken_);
    if (stopped_) return Supply::cancelled;
    if (shared.ended) {
      cycle_[shared.slot] = nullptr;
      --open_in_cycle_;
      return Supply::end;
    }
    if (!options_.ordered) return Supply::not_yet;
    wanted_ = &shared;
    gathers_ = !waited;
    wake_worker();
    if (gathers_) {
      ready_.wait_for(lock, kGather);
    } else {
      ready_.wait(lock);
    }
    waited = true;
    wanted_ = nullptr;
  }
  if (stopped_) return Supply::cancelled;
  take_chunk(shared, out);
  if (waited) StageCounters::add(counters_.wait_ticks, ticks_now() - begin);
  return Supply::values;
}

Pull FeedThreads::wait() {
  std::unique_lock lock(mutex_);
  const auto something = [this] {
    if (stopped_ || broken_ != nullptr) return true;
    for (const SharedFeed* feed : cycle_) {
      if (feed != nullptr && (!feed->ready.empty() || feed->ended)) return true;
    }
    if (!open_was_refused_) return false;
    if (pending_.empty()) return outer_ended_;
    return std::any_of(pending_.begin(), pending_.end(),
                       [](const auto& feed) { return !feed->opening; });
  };
  if (!something()) {
    const std::uint64_t begin = ticks_now();
    do {
      wants_any_ = true;
      wake_worker();
      ready_.wait(lock);
      wants_any_ = false;
    } while (!something());
    StageCounters::add(counters_.wait_ticks, ticks_now() - begin);
  }
  open_was_refused_ = false;
  if (broken_ != nullptr) std::rethrow_exception(broken_);
  return stopped_ ? Pull::cancelled : Pull::values;
}

void FeedThreads::take_chunk(SharedFeed& feed, Chunk& out) {
  out.swap(feed.ready.front());
  if (spare_.size() < kSpareChunksMax) spare_.push_back(std::move(feed.ready.front()));
  feed.ready.pop_front();
  const std::uint64_t bytes = feed.ready.empty()
                                  ? feed.ready_bytes
                                  : std::min<std::uint64_t>(out.bytes(), feed.ready_bytes);
  const std::uint64_t released =
      feed.ready.empty() ? feed.reserved_bytes : std::min(bytes, feed.reserved_bytes);
  run_.memory().release_elastic(released);
  feed.reserved_bytes -= released;
  feed.ready_bytes -= bytes;
  feed.ready_elements -= out.slots();
  bytes_ -= bytes;
  elements_ -= out.slots();
  publish_level();
  const bool had_no_memory = std::exchange(memory_short_, false);
  if (had_no_memory || (can_be_read(feed) && is_low(feed))) wake_worker();
}

void FeedThreads::wake_worker() {
  if (idle_ == 0 || worker_wakes_) return;
  worker_wakes_ = true;
  work_.notify_one();
}

// ---- the threads' side

void FeedThreads::work() {
  std::unique_lock lock(mutex_, std::defer_lock);
  try {
    Chunk element(outer_type_, 1);
    lock.lock();
    while (!stopped_) {
      const Task task = choose();
      if (!task) {
        ++idle_;
        work_.wait(lock);
        --idle_;
        worker_wakes_ = false;
        continue;
      }
      if (task.take_outer) {
        take_outer(lock, element);
      } else {
        read(lock, *task.feed);
      }
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    broken_ = std::current_exception();
    wake_consumer();
  }
}

bool FeedThreads::may_take_outer() const {
  // As many ahead as there are threads; while the cycle fills up, twice as many.
  const std::uint64_t threads = static_cast<std::uint64_t>(options_.threads);
  const std::uint64_t empty_slots = options_.cycle_length - open_in_cycle_;
  return !outer_busy_ && !outer_ended_ &&
         pending_.size() < threads + std::min(threads, empty_slots);
}

bool FeedThreads::is_wanted(const SharedFeed& feed) const { return wanted_ == &feed || wants_any_; }

/// The feed that needs reading most: those of the cycle from the consumer's turn on, then those to
/// come.
SharedFeed* FeedThreads::first_feed(bool only_empty) const {
  const auto needs = [only_empty](const SharedFeed& feed) {
    return can_be_read(feed) && (only_empty ? feed.ready.empty() : is_low(feed));
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

FeedThreads::Task FeedThreads::choose() const {
  if (wanted_ != nullptr && can_be_read(*wanted_) && wanted_->ready.empty()) {
    return {.feed = wanted_};
  }
  if (wants_open_ && may_take_outer()) return {.take_outer = true};
  if (memory_short_ && !wants_any_) return {};
  if (SharedFeed* const feed = first_feed(true)) return {.feed = feed};
  if (may_take_outer()) return {.take_outer = true};
  return {.feed = memory_short_ ? nullptr : first_feed(false)};
}

bool FeedThreads::others_come_first(const SharedFeed& feed) const {
  if (wanted_ != nullptr && wanted_ != &feed) {
    return can_be_read(*wanted_) && wanted_->ready.empty();
  }
  return wants_open_ && may_take_outer();
}

void FeedThreads::take_outer(std::unique_lock<std::mutex>& lock, Chunk& element) {
  outer_busy_ = true;
  if (choose()) wake_worker();
  lock.unlock();
  std::uint64_t position = 0;
  std::exception_ptr failure;
  Pull next = Pull::end;
  try {
    next = outer_.next(element, position);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  outer_busy_ = false;
  if (next == Pull::cancelled) stopped_ = true;
  if (next != Pull::values) {
    outer_ended_ = true;
    outer_failure_ = failure;
    wake_consumer();
    return;
  }
  SharedFeed& feed =
      *pending_.emplace_back(std::make_unique<SharedFeed>(run_.memory(), InnerStream()));
  feed.opening = true;
  if (choose()) wake_worker();  // the next outer element, say
  lock.unlock();
  const std::uint64_t begin = ticks_now();
  ErrorPointer error = element.take_error();
  InnerStream stream;
  if (error == nullptr) {
    try {
      stream = opener_.open(opener_.describe(element), position);
    } catch (...) {
      error = current_error();
    }
  }
  StageCounters::add(counters_.work_ticks, ticks_now() - begin);
  lock.lock();
  feed.stream = std::move(stream);
  feed.error = std::move(error);
  feed.opening = false;
  if (wants_open_ || wants_any_) wake_consumer();
}

/// How many elements to ask for; none when there is no memory and nobody waits for them.
FeedThreads::Grant FeedThreads::reserve(const SharedFeed& feed) {
  const bool owns_more = type_.payload_bytes_run != nullptr;
  if (owns_more && bytes_per_element_ == 0) return {.want = 1, .reserved_bytes = 0};
  const std::uint64_t each =
      std::max<std::uint64_t>({bytes_per_element_, type_.size, std::uint64_t{1}});
  const std::uint64_t room = kReadyBytes - std::min(kReadyBytes, feed.ready_bytes);
  const std::uint64_t want = std::clamp<std::uint64_t>(room / each, 1, chunk_capacity(type_));
  if (run_.memory().try_reserve_elastic(want * each)) {
    return {.want = static_cast<std::size_t>(want), .reserved_bytes = want * each};
  }
  if (run_.memory().try_reserve_elastic(each)) return {.want = 1, .reserved_bytes = each};
  memory_short_ = true;
  return {.want = is_wanted(feed) ? std::size_t{1} : 0, .reserved_bytes = 0};
}

void FeedThreads::read(std::unique_lock<std::mutex>& lock, SharedFeed& feed) {
  feed.busy = true;
  if (choose()) wake_worker();
  Chunk chunk = [this] {
    if (spare_.empty()) return Chunk(type_);
    Chunk spare = std::move(spare_.back());
    spare_.pop_back();
    return spare;
  }();
  do {
    const Grant grant = reserve(feed);
    if (grant.want == 0) break;
    lock.unlock();
    const std::uint64_t begin = ticks_now();
    const Pull pulled = feed.stream.pull(chunk, grant.want);
    const bool quick = ticks_now() - begin < ticks_of_us(kQuickReadUs);
    const bool whole = chunk.slots() == grant.want;
    const std::uint64_t bytes = chunk.bytes();
    if (pulled == Pull::end) feed.stream.close();
    lock.lock();
    if (pulled == Pull::cancelled) stopped_ = true;
    if (pulled == Pull::end) feed.ended = true;
    publish(feed, chunk, bytes, grant);
    const bool waited_for = wants_any_ || wanted_ == &feed;
    const bool at_once = !gathers_ || !quick || !whole || !is_low(feed) || feed.ended || stopped_;
    if (waited_for && at_once) wake_consumer();
  } while (!stopped_ && !feed.ended && has_room(feed) && !others_come_first(feed));
  feed.busy = false;
  if (spare_.size() < kSpareChunksMax) spare_.push_back(std::move(chunk));
}

/// Puts what was read, maybe nothing, behind what is ready, and corrects the reservation.
void FeedThreads::publish(SharedFeed& feed, Chunk& chunk, std::uint64_t bytes, const Grant& grant) {
  std::uint64_t reserved = grant.reserved_bytes;
  if (reserved > bytes) {
    run_.memory().release_elastic(reserved - bytes);
    reserved = bytes;
  } else if (reserved < bytes && run_.memory().try_reserve_elastic(bytes - reserved)) {
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
  chunk = Chunk(type_);
}

void FeedThreads::wake_consumer() { ready_.notify_one(); }

}  // namespace infeed::detail
