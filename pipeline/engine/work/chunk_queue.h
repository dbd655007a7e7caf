#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/chunk.h>

#include "engine/iterator_context.h"
#include "engine/work/elements_in_hand.h"
#include "engine/work/input_driver.h"
#include "engine/work/keeps_ready.h"
#include "engine/work/queue_depth.h"

namespace infeed::detail {

/// A bounded queue of a stage's next chunks. Its own thread pulls them ahead of the one consumer.
///
/// A hand-off through the kernel costs 21 us, 10 of them the time of who wakes the other. So nobody
/// is woken for one chunk if more come soon, which the queue learns from the intervals between
/// chunks. The thread is woken when the queue is half empty. The consumer sleeps for 200 us by a
/// timer, which costs the thread nothing. The thread wakes it before if the queue is half full. A
/// chunk that comes after a longer time wakes the consumer at once.
///
/// Memory: the thread asks the account before it pulls. It may pull while the account has room, or
/// when the consumer has found the queue empty. (Otherwise a limit below one element would be a
/// deadlock. If several queues follow each other, only those with a waiting consumer pull then, so
/// that all of them together have one element under way.) Elements are counted from the pull on, in
/// hand and in the queue.
///
/// Invariants: hand_off_ guards all members except the constants. Only the consumer calls pop and
/// pull_here; any thread may call stop.
class ChunkQueue {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// `on_ready` is called whenever an empty queue gets a chunk, and at the queue's end. It must not
  /// use the queue.
  ChunkQueue(IteratorContext& run, StageCounters& counters, std::string thread_name, Stage& input,
             const TypeInfo& type, const QueueLimits& limits, std::function<void()> on_ready = {});
  ~ChunkQueue();
  ChunkQueue(const ChunkQueue&) = delete;
  ChunkQueue& operator=(const ChunkQueue&) = delete;

  /// Starts the thread; call it before the first pop(). Throws if the system gives no thread.
  void start();
  /// Exchanges `out`, which is empty, for the next chunk; waits for one. Throws the failure that
  /// comes after the last one. `out` stays empty after the longest wait, and in the serial form once
  /// no chunks are left: then has_input() is true, and pull_here() is to be called.
  Pull pop(Chunk& out);
  /// Returns true if the consumer pulls the input instead of the thread.
  bool has_input() const { return driver_.is_taken(); }
  /// Pulls the input instead of the thread.
  Pull pull_here(Chunk& out, std::size_t want);
  void stop();

  /// Sets the longest wait of a pop(). Only for the consumer.
  void return_after(std::chrono::nanoseconds wait_max) { wait_max_ = wait_max; }

  // For the tuner:
  void set_serial(bool serial) { driver_.set_serial(serial); }
  void set_depth(std::uint64_t depth);
  void set_depth_knob(Knob& knob);

  /// Returns true if pop() returns at once. Waits for that until the deadline or a stop.
  bool wait_until_ready(Deadline deadline, const std::stop_token& stop);

 private:
  /// True if the consumer waits and nothing is there for it.
  bool is_starved() const { return is_wanted_ && chunks_.empty(); }
  std::size_t room(std::size_t elements_max);
  void hold(Chunk& chunk);
  void add_pulled();
  void note_interval();
  bool merge_into_last(Chunk& chunk);
  template <class HasEnded>
  std::uint64_t wait_while_empty(std::unique_lock<std::mutex>& lock, Deadline deadline,
                                 HasEnded has_ended);
  void wait_for_chunks(std::unique_lock<std::mutex>& lock);
  std::size_t chunks_to_wake() const;
  void finish(ErrorPointer failure);
  void tell_ready() const;
  void wake_collector();
  void publish_level();

  IteratorContext& run_;
  StageCounters& counters_;
  const TypeInfo& type_;
  const std::function<void()> on_ready_;
  HandOff hand_off_;
  WaitPoint values_{hand_off_};  ///< where the consumer waits
  QueueDepth depth_;
  std::chrono::nanoseconds wait_max_ = KeepsReady::kForever;  ///< the consumer alone uses it
  std::deque<Chunk> chunks_;                                  ///< each with its part of the account
  std::vector<Chunk> spare_;                                  ///< emptied by the consumer
  Chunk pulled_;                                              ///< waits for room in the queue
  ElementsInHand in_hand_;  ///< memory of pulled_, or of the pull about to begin
  bool is_wanted_ = false;  ///< the consumer has found the queue empty since the last chunk came
  std::uint64_t elements_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t come_ticks_ = 0;      ///< when the last chunk came
  std::uint64_t interval_ticks_ = 0;  ///< time between two chunks, smoothed
  std::size_t wake_at_ = 0;           ///< chunks that wake the waiting consumer; 0: it doesn't wait
  InputDriver driver_;                ///< last: it uses the members above
};

}  // namespace infeed::detail
