#include "engine/work/input_driver.h"

#include <utility>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/threads/clock.h"

namespace infeed::detail {

InputDriver::InputDriver(const IteratorContext& run, StageCounters& counters, HandOff& hand_off,
                         WaitPoint& consumer, Stage& input, const TypeInfo& type, Owner owner)
    : run_(run),
      counters_(counters),
      hand_off_(hand_off),
      consumer_(consumer),
      input_(input),
      owner_(std::move(owner)),
      pulled_(type),
      thread_(hand_off_, {.begin = [this] { run_.begin_thread(owner_.name); },
                          .claim = [this](auto) { return claim(); },
                          .has_work = [this] { return may_pull(); },
                          .run = [](auto& lock, InputDriver& self) { self.pull(lock); }}) {}

void InputDriver::start() {
  if (!is_serial() && thread_.count() == 0) thread_.set_count(1);
}

void InputDriver::set_serial(bool serial) {
  const auto lock = hand_off_.lock();
  is_serial_.store(serial, std::memory_order_relaxed);
  consumer_.wake_all();
  thread_.wake_one();
}

bool InputDriver::keeps_input() {
  if (is_taken_ && !is_serial()) give_back();
  return is_taken_;
}

Pull InputDriver::pull_here(Chunk& out, std::size_t want) {
  const Pull pulled = input_.pull(out, want);
  if (pulled == Pull::end) {
    owner_.finish(nullptr);
    give_back();
  }
  return pulled;
}

/// Gives the input back. The consumer wakes the thread when it waits.
void InputDriver::give_back() {
  const auto lock = hand_off_.lock();
  is_taken_ = false;
}

InputDriver* InputDriver::claim() {
  if (!may_pull()) {
    full_since_ticks_ = 0;
    return nullptr;
  }
  room_ = owner_.room(pulled_.capacity());
  if (room_ == 0) {
    if (full_since_ticks_ == 0) full_since_ticks_ = ticks_now();
    return nullptr;
  }
  if (full_since_ticks_ != 0) {
    StageCounters::add(counters_.full_ticks, ticks_now() - std::exchange(full_since_ticks_, 0));
  }
  return this;
}

void InputDriver::pull(Lock& lock) {
  is_pulling_ = true;
  lock.unlock();
  try {
    const Pull pulled = input_.pull(pulled_, room_);
    if (pulled == Pull::cancelled) hand_off_.stop();
    if (pulled == Pull::values) owner_.take(pulled_);
    if (pulled == Pull::end) owner_.finish(nullptr);
  } catch (...) {
    owner_.finish(terminal_error());
  }
  HandOff::lock_again(lock);
  is_pulling_ = false;
  if (is_serial()) consumer_.wake_one();
}

}  // namespace infeed::detail
