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

/// The thread of a stage that pulls its input ahead of its consumer. In the serial form the consumer
/// pulls it, so that a thread less is woken and nothing is handed over; the form may change at any time.
///
/// Invariants, beside those of Workers: one of the two has the input at a time. The consumer takes it
/// only while the thread doesn't pull, and when all that was pulled is handed over; the thread goes on
/// only when the consumer has given it back. It starts with the first start(): the skips of a resume go
/// upstream before.
class InputDriver {
 public:
  using Lock = std::unique_lock<std::mutex>;

  /// The stage's part.
  struct Owner {
    std::string name;  ///< of the thread
    /// How many elements of so many may be pulled now; 0: none, until wake(). With the lock held.
    std::function<std::size_t(std::size_t)> room;
    std::function<void(Chunk&)> take;  ///< has the chunk empty when it returns
    /// Nothing more comes: the input is over or, with a failure, has failed for good.
    std::function<void(ErrorPointer)> finish;
  };

  /// The consumer waits at `consumer`; `input` gives elements of `type`.
  InputDriver(const IteratorContext& run, StageCounters& counters, HandOff& hand_off,
              WaitPoint& consumer, Stage& input, const TypeInfo& type, Owner owner);

  /// Waits until the thread has ended, behind a stop of the hand-off.
  void join() { thread_.join(); }
  bool is_serial() const { return is_serial_.load(std::memory_order_relaxed); }
  void set_serial(bool serial);

  // The consumer:
  /// Whether it has the input, which it gives back where the form is serial no more.
  bool keeps_input();
  /// Pulls in place of the thread while it has the input; at the end it gives the input back.
  Pull pull_here(Chunk& out, std::size_t want);
  /// Gives access to the thread's chunk, of no use to it meanwhile.
  Chunk& chunk() { return pulled_; }

  // With the lock held:
  /// The consumer, before it waits: there is to be a thread, unless the form is serial. Throws where the
  /// system gives none.
  void start();
  /// There may be room again.
  void wake() { thread_.wake_one(); }
  bool is_asleep() const { return thread_.asleep() > 0; }
  /// Whether the consumer may have the input: in the serial form, when the thread doesn't pull.
  bool may_be_taken() const { return is_serial() && !is_pulling_; }
  void be_taken() { is_taken_ = true; }

 private:
  void give_back();
  bool may_pull() const { return !is_serial() && !is_taken_ && !hand_off_.over(); }
  InputDriver* claim();
  void pull(Lock& lock);

  const IteratorContext& run_;
  StageCounters& counters_;
  HandOff& hand_off_;
  WaitPoint& consumer_;
  Stage& input_;
  const Owner owner_;
  std::atomic<bool> is_serial_{false};
  bool is_taken_ = false;  ///< by the consumer, who alone writes it
  bool is_pulling_ = false;
  std::size_t room_ = 0;
  std::uint64_t full_since_ticks_ = 0;  ///< there has been no room; else 0
  Chunk pulled_;                        ///< the thread's, without the lock
  Workers<InputDriver> thread_;         ///< last: it uses the others
};

}  // namespace infeed::detail
