#include "interleave/inner_readers.h"

#include <algorithm>
#include <chrono>

#include "engine/recording/call_watch.h"
#include "engine/threads/clock.h"

// The consumer's side. The threads' side is in inner_readers_work.cc.
namespace infeed::detail {
namespace {

constexpr auto kCollectElements = std::chrono::microseconds(200);

}  // namespace

InnerReaders::InnerReaders(IteratorContext& run, StageCounters& counters, const TypeInfo& type,
                           const TypeInfo& outer_type, OuterInput& outer, const InnerOpener& opener,
                           const InnerReadersOptions& options)
    : run_(run),
      counters_(counters),
      outer_type_(outer_type),
      outer_(outer),
      opener_(opener),
      options_(options),
      ahead_(options.cycle_length, options.ordered),
      buffers_(run, counters, type),
      readers_wanted_(options.threads),
      outer_reader_(hand_off_, {.begin = [this] { run_.begin_thread("interleave"); },
                                .claim = [this](auto) { return wants_outer() ? &outer_ : nullptr; },
                                .has_work = [this] { return wants_outer(); },
                                .run = [this](auto& lock, auto&) { take_outer_element(lock); }}),
      readers_(hand_off_, {.begin = [this] { run_.begin_thread("interleave"); },
                           .claim = [this](auto) { return ahead_.claim(); },
                           .has_work = [this] { return ahead_.choose() != nullptr; },
                           .run = [this](auto& lock, auto& inner) { work_on(lock, inner); }}),
      room_waker_(run.room_wakers(), [this] {
        const auto lock = hand_off_.lock();
        if (hand_off_.stopped()) return;
        ahead_.set_memory_short(false);
        readers_.wake_one();
      }) {}

InnerReaders::~InnerReaders() {
  stop();
  outer_reader_.join();
  readers_.join();
}

void InnerReaders::adopt(std::size_t slot, InnerStream stream) {
  auto inner = std::make_unique<InnerReadAhead>(outer_type_);
  inner->stream = std::move(stream);
  inner->opened = true;
  const auto lock = hand_off_.lock();  // a cancellation may stop() meanwhile
  ahead_.place(slot, std::move(inner));
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
  // Nobody takes the elements that were read ahead. A running read drops its own.
  ahead_.for_each([this](InnerReadAhead& inner, bool) { buffers_.drop(inner); });
}

void InnerReaders::wait_for(Lock& lock, Awaited what, InnerReadAhead* inner) {
  const WaitWatch watch(run_.recorder());
  const std::uint64_t begin = ticks_now();
  ahead_.await(what, inner);
  readers_.wake_one();
  if (what == Awaited::elements && collects_) {
    ready_.wait_once_for(lock, kCollectElements);
  } else {
    ready_.wait_once(lock);
  }
  ahead_.await(Awaited::nothing, nullptr);
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin);
}

Supply InnerReaders::open(std::size_t slot, ErrorPointer& error) {
  auto lock = hand_off_.lock();
  while (hand_off_.goes_on()) {
    if (std::unique_ptr<InnerReadAhead> taken = ahead_.take_opened()) {
      error = taken->error;
      if (error == nullptr) ahead_.place(slot, std::move(taken));
      wake_outer();
      return Supply::values;
    }
    if (ahead_.to_come() == 0 && hand_off_.finished()) {
      hand_off_.throw_failure();
      return Supply::end;
    }
    if (!options_.ordered) {
      slot_is_empty_ = true;
      return Supply::not_yet;
    }
    wait_for(lock, Awaited::opening);
  }
  return Supply::cancelled;
}

Supply InnerReaders::refill(std::size_t slot, Chunk& out) {
  // Closed after the lock is released.
  std::unique_ptr<InnerReadAhead> over;
  auto lock = hand_off_.lock();
  InnerReadAhead& inner = ahead_.at(slot);
  ahead_.set_turn(slot);
  collects_ = true;
  while (hand_off_.goes_on()) {
    if (!inner.ready.empty()) {
      buffers_.take(inner, out);
      const bool had_no_memory = ahead_.is_memory_short();
      ahead_.set_memory_short(false);
      if (had_no_memory || (inner.is_free() && inner.is_low())) readers_.wake_one();
      return Supply::values;
    }
    if (inner.failure != nullptr) throw Error(*inner.failure);
    if (inner.ended) {
      over = ahead_.take(slot);
      wake_outer();
      return Supply::end;
    }
    if (!options_.ordered) return Supply::not_yet;
    wait_for(lock, Awaited::elements, &inner);
    collects_ = false;
  }
  return Supply::cancelled;
}

Pull InnerReaders::wait() {
  auto lock = hand_off_.lock();
  while (hand_off_.goes_on() && !ahead_.has_news(slot_is_empty_, hand_off_.finished())) {
    wait_for(lock, Awaited::anything);
  }
  slot_is_empty_ = false;
  return hand_off_.goes_on() ? Pull::values : Pull::cancelled;
}

}  // namespace infeed::detail
