#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include <infeed/detail/hand_off.h>
#include <infeed/detail/workers.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"

namespace infeed::detail {

/// The thread of a stage that pulls its input ahead of its consumer. In the serial form the
/// consumer pulls the input itself, which saves a wake-up and the hand-over. The form may change at
/// any time.
///
/// A pass is expected to be as long as the stage's last one (a repeat of ten elements). If that took
/// less than starting threads does, the pass begins in the serial form. It leaves that form once it
/// has turned out longer.
///
/// Nothing is pulled ahead that the iterator's consumer has said it won't ask for, as far as the
/// stages on the way can tell.
///
/// Invariants, beside those of Workers: either the thread or the consumer has the input. The
/// consumer takes it only while the thread doesn't pull, and when all pulled elements are handed
/// over. The thread goes on only after the consumer has given it back. The thread starts with the
/// first start(), because the skips of a resume go upstream before.
class InputDriver {
 public:
  using Lock = std::unique_lock<std::mutex>;

  /// The functions that the stage provides.
  struct Owner {
    std::string name;  ///< the thread's name
    /// Returns how many elements may be pulled now, at most the given number; 0: none until wake().
    /// The given number is 0 if the consumer has said that it won't ask for more. Called with the
    /// lock held.
    std::function<std::size_t(std::size_t)> room;
    /// Returns true if the consumer waits and nothing is on its way to it. Called with the lock held.
    std::function<bool()> is_wanted;
    std::function<void(Chunk&)> take;  ///< leaves the chunk empty
    /// Says that nothing more comes: the input is over or, with a failure, has failed for good.
    std::function<void(ErrorPointer)> finish;
  };

  /// `consumer` is the point where the consumer waits. `input` gives elements of `type`.
  InputDriver(IteratorContext& run, StageCounters& counters, HandOff& hand_off, WaitPoint& consumer,
              Stage& input, const TypeInfo& type, Owner owner);
  ~InputDriver();
  InputDriver(const InputDriver&) = delete;
  InputDriver& operator=(const InputDriver&) = delete;

  /// Waits until the thread has ended, after the hand-off was stopped.
  void join() { thread_.join(); }
  bool is_serial() const { return was_set_serial() || is_brief_.load(std::memory_order_relaxed); }
  bool was_set_serial() const { return is_serial_.load(std::memory_order_relaxed); }
  void set_serial(bool serial);

  // For the consumer:
  /// Returns true if the consumer has the input. Gives it back if the form is no longer serial.
  bool keeps_input();
  bool is_taken() const { return is_taken_; }
  /// Pulls instead of the thread while the consumer has the input. Gives the input back at the end.
  Pull pull_here(Chunk& out, std::size_t want);
  /// The thread's chunk, which the thread doesn't use meanwhile.
  Chunk& chunk() { return pulled_; }

  // With the lock held:
  /// Starts the thread unless the form is serial. The consumer calls it before it waits. Throws if
  /// the system gives no thread.
  void start();
  /// Says that there may be room again.
  void wake() { thread_.wake_one(); }
  /// Returns true if the consumer may take the input: in the serial form, while the thread doesn't
  /// pull.
  bool may_be_taken() const { return is_serial() && !is_pulling_; }
  void be_taken() { is_taken_ = true; }

 private:
  void give_back();
  Pull timed_pull(Chunk& out, std::size_t want);
  std::uint64_t pass_ticks() const;
  void note_longer_pass();
  bool may_pull() const { return !is_serial() && !is_taken_ && !hand_off_.over(); }
  std::size_t may_read() const;
  InputDriver* claim();
  void note_full_time();
  void pull(Lock& lock);

  IteratorContext& run_;
  StageCounters& counters_;
  HandOff& hand_off_;
  WaitPoint& consumer_;
  Stage& input_;
  const Owner owner_;
  const std::uint64_t work_before_ticks_;  ///< the stage's own, before this pass
  // These two belong to whoever has the input.
  std::uint64_t input_ticks_ = 0;
  std::uint64_t elements_ = 0;  ///< pulled so far, errors included
  std::atomic<bool> is_serial_{false};
  std::atomic<bool> is_brief_;  ///< the consumer alone sets it to false, with the lock
  bool is_taken_ = false;       ///< by the consumer, which alone writes it
  bool is_pulling_ = false;
  std::size_t room_ = 0;
  std::uint64_t full_since_ticks_ = 0;  ///< when the room ran out; 0 while there is room
  Chunk pulled_;                        ///< belongs to the thread, without the lock
  // Last: they use the members above.
  Workers<InputDriver> thread_;
  RoomWaker room_waker_;
};

}  // namespace infeed::detail
