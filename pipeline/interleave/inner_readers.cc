#include "interleave/inner_readers.h"

#include <algorithm>
#include <chrono>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/recording/call_watch.h"
#include "engine/threads/clock.h"
#include "engine/threads/driver.h"

// The consumer's side; that of the threads is inner_readers_work.cc.
namespace infeed::detail {
namespace {

constexpr std::size_t kReaderSpareChunksMax = 16;
constexpr auto kCollectElements = std::chrono::microseconds(200);

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
      options_(options),
      readers_wanted_(options.threads),
      outer_reader_(hand_off_, {.begin = [this] { run_.begin_thread("interleave"); },
                                .claim = [this](auto) { return wants_outer() ? &outer_ : nullptr; },
                                .has_work = [this] { return wants_outer(); },
                                .run = [this](auto& lock, auto&) { take_outer_element(lock); }}),
      readers_(hand_off_, {.begin = [this] { run_.begin_thread("interleave"); },
                           .claim = [this](auto) { return claim(); },
                           .has_work = [this] { return choose() != nullptr; },
                           .run = [this](auto& lock, auto& inner) { work_on(lock, inner); }}) {}

InnerReaders::~InnerReaders() {
  stop();
  outer_reader_.join();
  readers_.join();
}

void InnerReaders::adopt(std::size_t slot, InnerStream stream) {
  auto inner = std::make_unique<InnerReadAhead>(outer_type_);
  inner->stream = std::move(stream);
  inner->opened = true;
  place(slot, std::move(inner));
}

void InnerReaders::start() {
  const auto lock = hand_off_.lock();
  readers_wanted_ = readers_.set_count(readers_wanted_);
  outer_reader_.set_count(1);
  has_started_ = true;
}

void InnerReaders::set_workers(int workers) {
  const auto lock = hand_off_.lock();
  if (hand_off_.stopped()) return;
  readers_wanted_ = has_started_ ? readers_.set_count(workers) : workers;
  outer_reader_.wake_one();
}

void InnerReaders::stop() {
  const auto lock = hand_off_.lock();
  hand_off_.stop_locked();
  // Nobody will take what was read ahead; a read that is under way drops what it brings.
  for (const auto& inner : cycle_) {
    if (inner != nullptr) inner->drop_ready();
  }
  for (const auto& inner : pending_) inner->drop_ready();
  elements_ = bytes_ = 0;
  publish_level();
}

void InnerReaders::place(std::size_t slot, std::unique_ptr<InnerReadAhead> inner) {
  if (cycle_.size() <= slot) cycle_.resize(slot + 1);
  cycle_[slot] = std::move(inner);
  ++open_in_cycle_;
}

void InnerReaders::publish_level() { counters_.note_buffered(elements_, bytes_); }

// ---- the consumer's side

void InnerReaders::wait_for(std::unique_lock<std::mutex>& lock, Awaited what,
                            InnerReadAhead* inner) {
  const WaitWatch watch(run_.recorder());
  const std::uint64_t begin = ticks_now();
  awaited_ = what;
  wanted_ = inner;
  readers_.wake_one();
  if (what == Awaited::elements && collects_) {
    ready_.wait_once_for(lock, kCollectElements);
  } else {
    ready_.wait_once(lock);
  }
  awaited_ = Awaited::nothing;
  wanted_ = nullptr;
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

Supply InnerReaders::open(std::size_t slot, ErrorPointer& error) {
  auto lock = hand_off_.lock();
  while (hand_off_.goes_on()) {
    if (std::unique_ptr<InnerReadAhead> taken = take_opened()) {
      error = taken->error;
      if (error == nullptr) place(slot, std::move(taken));
      wake_outer();
      return Supply::values;
    }
    if (pending_.empty() && hand_off_.finished()) {
      hand_off_.throw_failure();
      return Supply::end;
    }
    if (!options_.ordered) {
      open_was_refused_ = true;
      return Supply::not_yet;
    }
    wait_for(lock, Awaited::opening);
  }
  return Supply::cancelled;
}

Supply InnerReaders::refill(std::size_t slot, Chunk& out) {
  // Closed when the lock is gone.
  std::unique_ptr<InnerReadAhead> over;
  auto lock = hand_off_.lock();
  InnerReadAhead& inner = *cycle_[slot];
  turn_ = slot;
  collects_ = true;
  while (hand_off_.goes_on()) {
    if (!inner.ready.empty()) {
      take_chunk(inner, out);
      return Supply::values;
    }
    if (inner.failure != nullptr) throw Error(*inner.failure);
    if (inner.ended) {
      over = std::move(cycle_[slot]);
      --open_in_cycle_;
      wake_outer();
      return Supply::end;
    }
    if (!options_.ordered) return Supply::not_yet;
    wait_for(lock, Awaited::elements, &inner);
    collects_ = false;
  }
  return Supply::cancelled;
}

bool InnerReaders::something_is_ready() const {
  for (const auto& inner : cycle_) {
    if (inner == nullptr) continue;
    if (!inner->ready.empty() || inner->ended || inner->failure != nullptr) return true;
  }
  if (!open_was_refused_) return false;
  if (pending_.empty()) return hand_off_.finished();
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const auto& inner) { return inner->opened; });
}

Pull InnerReaders::wait() {
  auto lock = hand_off_.lock();
  while (hand_off_.goes_on() && !something_is_ready()) wait_for(lock, Awaited::anything);
  open_was_refused_ = false;
  return hand_off_.goes_on() ? Pull::values : Pull::cancelled;
}

void InnerReaders::take_chunk(InnerReadAhead& inner, Chunk& out) {
  out.swap(inner.ready.front());
  give_spare(std::move(inner.ready.front()));
  inner.ready.pop_front();
  if (!inner.ready_places.empty()) {
    inner.taken_places = std::move(inner.ready_places.front());
    inner.ready_places.pop_front();
  }
  const bool last = inner.ready.empty();
  const std::uint64_t bytes =
      last ? inner.ready_bytes : std::min(out.held().bytes(), inner.ready_bytes);
  inner.ready_bytes -= bytes;
  inner.ready_elements -= out.slots();
  bytes_ -= bytes;
  elements_ -= out.slots();
  publish_level();
  const bool had_no_memory = std::exchange(memory_short_, false);
  if (had_no_memory || (inner.is_free() && inner.is_low())) readers_.wake_one();
}

Chunk InnerReaders::take_spare() {
  if (spare_.empty()) return Chunk(type_);
  Chunk spare = std::move(spare_.back());
  spare_.pop_back();
  return spare;
}

void InnerReaders::give_spare(Chunk chunk) {
  if (spare_.size() < kReaderSpareChunksMax) spare_.push_back(std::move(chunk));
}

}  // namespace infeed::detail
