#include "engine/work/input_driver.h"

#include <algorithm>
#include <utility>

#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

// Starting a driver's thread and waking those that work for it takes 100 us.
constexpr double kBriefPassUs = 100;

bool last_pass_was_brief(const StageCounters& counters) {
  const std::uint64_t ticks = counters.last_pass_ticks.load(std::memory_order_relaxed);
  return ticks != 0 && ticks < ticks_of_us(kBriefPassUs);
}

}  // namespace

InputDriver::InputDriver(IteratorContext& run, StageCounters& counters, HandOff& hand_off,
                         WaitPoint& consumer, Stage& input, const TypeInfo& type, Owner owner)
    : run_(run),
      counters_(counters),
      hand_off_(hand_off),
      consumer_(consumer),
      input_(input),
      owner_(std::move(owner)),
      work_before_ticks_(counters.work_time.ticks.load(std::memory_order_relaxed)),
      is_brief_(last_pass_was_brief(counters)),
      pulled_(type),
      thread_(hand_off_, {.begin = [this] { run_.begin_thread(owner_.name); },
                          .claim = [this](auto) { return claim(); },
                          .has_work = [this] { return may_pull(); },
                          .run = [](auto& lock, InputDriver& self) { self.pull(lock); }}),
      room_waker_(run.room_wakers(), [this] {
        const auto lock = hand_off_.lock();
        thread_.wake_one();
      }) {}

InputDriver::~InputDriver() {
  thread_.join();
  // One whose thread the system didn't give says nothing about the pass.
  if (input_ticks_ == 0) return;
  counters_.last_pass_ticks.store(pass_ticks(), std::memory_order_relaxed);
}

void InputDriver::start() {
  if (!is_serial() && thread_.count() == 0) thread_.set_count(1);
}

void InputDriver::set_serial(bool serial) {
  const auto lock = hand_off_.lock();
  is_serial_.store(serial, std::memory_order_relaxed);
  if (serial) note_full_time();  // the thread waits for its turn from now on, and not for room
  consumer_.wake_all();
  thread_.wake_one();
}

bool InputDriver::keeps_input() {
  if (is_taken_ && !is_serial()) give_back();
  return is_taken_;
}

Pull InputDriver::pull_here(Chunk& out, std::size_t want) {
  if (is_brief_.load(std::memory_order_relaxed)) note_longer_pass();
  const Pull pulled = timed_pull(out, want);
  if (pulled == Pull::end) {
    owner_.finish(nullptr);
    give_back();
  }
  return pulled;
}

Pull InputDriver::timed_pull(Chunk& out, std::size_t want) {
  const std::uint64_t begin_ticks = ticks_now();
  const Pull pulled = input_.pull(out, want);
  input_ticks_ += ticks_now() - begin_ticks;
  if (pulled == Pull::values) elements_ += out.slots();
  return pulled;
}

/// Returns the work of this pass so far, in whichever threads. At least 1.
std::uint64_t InputDriver::pass_ticks() const {
  const std::uint64_t work = counters_.work_time.ticks.load(std::memory_order_relaxed);
  return 1 + input_ticks_ + work - work_before_ticks_;
}

/// Ends the serial form of a pass that isn't brief. The consumer gives the input back when it comes
/// again.
void InputDriver::note_longer_pass() {
  if (pass_ticks() < ticks_of_us(2 * kBriefPassUs)) return;
  const auto lock = hand_off_.lock();
  is_brief_.store(false, std::memory_order_relaxed);
}

/// Gives the input back. The consumer wakes the thread when it waits.
void InputDriver::give_back() {
  const auto lock = hand_off_.lock();
  is_taken_ = false;
}

/// Returns how many elements may be pulled by what the iterator's consumer will ask for.
std::size_t InputDriver::may_read() const {
  const std::size_t capacity = pulled_.capacity();
  const std::uint64_t of_root = run_.elements_wanted();
  if (of_root == kAllElements) return capacity;
  const std::uint64_t wanted = counters_.input_wanted(of_root);
  if (wanted > elements_)
    return static_cast<std::size_t>(std::min<std::uint64_t>(capacity, wanted - elements_));
  // It asks for more than it has said, or elements were left out on the way.
  return owner_.is_wanted() ? 1 : 0;
}

InputDriver* InputDriver::claim() {
  if (!may_pull()) return nullptr;
  room_ = owner_.room(may_read());
  if (room_ == 0) {
    if (full_since_ticks_ == 0) full_since_ticks_ = ticks_now();
    return nullptr;
  }
  note_full_time();
  return this;
}

/// Counts the time since the room ran out, if it has.
void InputDriver::note_full_time() {
  if (full_since_ticks_ == 0) return;
  StageCounters::add(counters_.full_ticks, ticks_now() - std::exchange(full_since_ticks_, 0));
}

void InputDriver::pull(Lock& lock) {
  is_pulling_ = true;
  lock.unlock();
  try {
    const Pull pulled = timed_pull(pulled_, room_);
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
