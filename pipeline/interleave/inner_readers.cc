#include "interleave/inner_readers.h"

#include <algorithm>
#include <chrono>

#include "engine/threads/driver.h"

// The consumer's side; that of the threads is inner_readers_work.cc.
namespace infeed::detail {
namespace {

constexpr std::size_t kSpareChunksMax = 16;
constexpr auto kCollecting = std::chrono::microseconds(200);

}  // namespace

InnerReaders::InnerReaders(IteratorContext& run, StageCounters& counters, const TypeInfo& type,
                           const TypeInfo& outer_type, OuterInput& outer, const InnerOpener& opener,
                           const InnerReadersOptions& options)
    : run_(run),
      counters_(counters),
      type_(type),
      outer_type_(outer_type),
      outer_(outer),
      opener_(opener),
      options_(options) {}

InnerReaders::~InnerReaders() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<InnerInput> InnerReaders::adopt(std::size_t slot,
                                                std::unique_ptr<InnerInput> feed) {
  auto shared = std::make_unique<InnerReadAhead>(run_.memory(), outer_type_);
  shared->stream = std::move(feed->stream);
  shared->opened = true;
  place(slot, *shared);
  return shared;
}

void InnerReaders::start() {
  threads_.reserve(static_cast<std::size_t>(options_.threads) + 1);
  threads_.emplace_back([this] { run_thread(&InnerReaders::take_outer_elements); });
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this] { run_thread(&InnerReaders::read_feeds); });
  }
}

void InnerReaders::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    // Nobody will take what was read ahead; a read that is under way drops what it brings.
    for (InnerReadAhead* const feed : cycle_) {
      if (feed != nullptr) feed->drop_ready();
    }
    for (const auto& feed : pending_) feed->drop_ready();
    run_.memory().release_best_effort(std::exchange(granted_bytes_, 0));
    elements_ = bytes_ = 0;
    publish_level();
  }
  outer_room_.notify_all();
  work_.notify_all();
  ready_.notify_all();
}

void InnerReaders::place(std::size_t slot, InnerReadAhead& feed) {
  if (cycle_.size() <= slot) cycle_.resize(slot + 1, nullptr);
  cycle_[slot] = &feed;
  feed.slot = slot;
  ++open_in_cycle_;
}

void InnerReaders::publish_level() {
  counters_.buffered_elements.store(elements_, std::memory_order_relaxed);
  counters_.buffered_bytes.store(bytes_, std::memory_order_relaxed);
}

// ---- the consumer's side

void InnerReaders::wait_until_told(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t begin = ticks_now();
  wake_reader();
  if (wanted_ != nullptr && gathers_) {
    ready_.wait_for(lock, kCollecting);
  } else {
    ready_.wait(lock);
  }
  wanted_ = nullptr;
  wants_open_ = wants_any_ = false;
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin);
}

/// The next inner dataset that is open, or known to be impossible; null when there is none yet.
std::unique_ptr<InnerReadAhead> InnerReaders::take_opened() {
  const auto limit = options_.ordered && !pending_.empty() ? pending_.begin() + 1 : pending_.end();
  const auto found = std::find_if(pending_.begin(), limit,
                                  [](const auto& candidate) { return candidate->opened; });
  if (found == limit) return nullptr;
  std::unique_ptr<InnerReadAhead> taken = std::move(*found);
  pending_.erase(found);
  return taken;
}

Supply InnerReaders::open(std::size_t slot, std::unique_ptr<InnerInput>& feed,
                          ErrorPointer& error) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (broken_ != nullptr) throw Error(*broken_);
    if (stopped_) return Supply::cancelled;
    if (std::unique_ptr<InnerReadAhead> taken = take_opened()) {
      error = taken->error;
      if (error == nullptr) {
        place(slot, *taken);
        feed = std::move(taken);
      }
      wake_outer();
      return Supply::values;
    }
    if (pending_.empty() && outer_ended_) {
      if (outer_failure_ != nullptr) throw Error(*outer_failure_);
      return Supply::end;
    }
    if (!options_.ordered) {
      open_was_refused_ = true;
      return Supply::not_yet;
    }
    wants_open_ = true;
    wait_until_told(lock);
  }
}

Supply InnerReaders::refill(InnerInput& feed, Chunk& out) {
  auto& shared = static_cast<InnerReadAhead&>(feed);
  std::unique_lock lock(mutex_);
  turn_ = shared.slot;
  gathers_ = true;
  while (true) {
    if (broken_ != nullptr) throw Error(*broken_);
    if (stopped_) return Supply::cancelled;
    if (!shared.ready.empty()) {
      take_chunk(shared, out);
      return Supply::values;
    }
    if (shared.failure != nullptr) throw Error(*shared.failure);
    if (shared.ended) {
      cycle_[shared.slot] = nullptr;
      --open_in_cycle_;
      wake_outer();
      return Supply::end;
    }
    if (!options_.ordered) return Supply::not_yet;
    wanted_ = &shared;
    wait_until_told(lock);
    gathers_ = false;
  }
}

bool InnerReaders::something_is_ready() const {
  for (const InnerReadAhead* feed : cycle_) {
    if (feed != nullptr && (!feed->ready.empty() || feed->ended || feed->failure != nullptr))
      return true;
  }
  if (!open_was_refused_) return false;
  if (pending_.empty()) return outer_ended_;
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const auto& feed) { return feed->opened; });
}

Pull InnerReaders::wait() {
  std::unique_lock lock(mutex_);
  while (!stopped_ && broken_ == nullptr && !something_is_ready()) {
    wants_any_ = true;
    wait_until_told(lock);
  }
  open_was_refused_ = false;
  if (broken_ != nullptr) throw Error(*broken_);
  return stopped_ ? Pull::cancelled : Pull::values;
}

void InnerReaders::take_chunk(InnerReadAhead& feed, Chunk& out) {
  out.swap(feed.ready.front());
  give_spare(std::move(feed.ready.front()));
  feed.ready.pop_front();
  const bool last = feed.ready.empty();
  const std::uint64_t bytes =
      last ? feed.ready_bytes : std::min<std::uint64_t>(out.bytes(), feed.ready_bytes);
  const std::uint64_t released = last ? feed.reserved_bytes : std::min(bytes, feed.reserved_bytes);
  run_.memory().release_best_effort(released);
  feed.reserved_bytes -= released;
  feed.ready_bytes -= bytes;
  feed.ready_elements -= out.slots();
  bytes_ -= bytes;
  elements_ -= out.slots();
  publish_level();
  const bool had_no_memory = std::exchange(memory_short_, false);
  if (had_no_memory || (feed.is_free() && feed.is_low())) wake_reader();
}

void InnerReaders::wake_reader() {
  if (idle_ == 0 || reader_wakes_) return;
  reader_wakes_ = true;
  work_.notify_one();
}

Chunk InnerReaders::take_spare() {
  if (spare_.empty()) return Chunk(type_);
  Chunk spare = std::move(spare_.back());
  spare_.pop_back();
  return spare;
}

void InnerReaders::give_spare(Chunk chunk) {
  if (spare_.size() < kSpareChunksMax) spare_.push_back(std::move(chunk));
}

}  // namespace infeed::detail
