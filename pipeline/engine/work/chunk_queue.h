#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/chunk.h>

#include "engine/iterator_context.h"
#include "engine/work/elements_in_hand.h"
#include "engine/work/input_driver.h"
#include "engine/work/queue_depth.h"

namespace infeed::detail {

/// A bounded queue of a stage's next chunks, which a thread of its own pulls ahead of the one consumer.
///
/// A hand-off through the kernel costs 21 us, so nobody is woken for one chunk when more are soon
/// to come: the thread is woken at half empty, the consumer when there is as much as arrives in
/// about 200 us (at most half of the queue), which it learns from the intervals between chunks. A
/// chunk that comes alone after a long time wakes it at once.
///
/// Memory: the thread asks before it pulls, and may while the account has room, or when the consumer
/// has found the queue empty. (A limit below one element would be a deadlock otherwise. Where queues
/// stand behind each other, only those pull then whose consumer waits, so that one element is under way
/// in all of them together.) What was pulled is held from then on, in hand and in the queue.
///
/// Invariants: all members are guarded by hand_off_, but for the constants. Only the consumer calls
/// pop and pull_here; stop may come from anywhere.
class ChunkQueue {
 public:
  /// `on_ready` is called whenever an empty queue gets something, and at its end. It must not use
  /// the queue.
  ChunkQueue(IteratorContext& run, StageCounters& counters, std::string thread_name, Stage& input,
             const TypeInfo& type, const QueueLimits& limits, std::function<void()> on_ready = {});
  ~ChunkQueue();
  ChunkQueue(const ChunkQueue&) = delete;
  ChunkQueue& operator=(const ChunkQueue&) = delete;

  /// Starts the thread, before the first pop(). Throws where the system gives none.
  void start();
  /// Exchanges `out`, which is empty, for the next chunk; waits for one. Throws the failure behind
  /// the last one. In the serial form `out` stays empty once there are no more: then comes pull_here().
  Pull pop(Chunk& out);
  /// Pulls the input in place of the thread.
  Pull pull_here(Chunk& out, std::size_t want);
  void stop();

  // The tuner:
  void set_serial(bool serial) { driver_.set_serial(serial); }
  void set_depth(std::uint64_t depth);
  void set_depth_knob(Knob& knob);

  /// Whether pop() returns at once, waiting for that until the deadline or a stop.
  bool wait_until_ready(std::chrono::steady_clock::time_point deadline,
                        const std::stop_token& stop);

 private:
  std::size_t room(std::size_t elements_max);
  void hold(Chunk& chunk);
  void add_pulled();
  void note_interval();
  bool merge_into_last(Chunk& chunk);
  void wait_for_chunks(std::unique_lock<std::mutex>& lock);
  void finish(ErrorPointer failure);
  void tell_ready() const;
  void wake_collector();
  void publish_level();

  IteratorContext& run_;
  StageCounters& counters_;
  const TypeInfo& type_;
  const std::function<void()> on_ready_;
  HandOff hand_off_;
  WaitPoint values_{hand_off_};  ///< for the consumer
  QueueDepth depth_;
  std::deque<Chunk> chunks_;  ///< each with what it holds of the account
  std::vector<Chunk> spare_;  ///< emptied by the consumer
  Chunk pulled_;              ///< in hand, until the queue has room for it
  ElementsInHand in_hand_;    ///< what was pulled, or is about to be
  bool is_wanted_ = false;    ///< the consumer has found nothing since the last chunk came
  std::uint64_t elements_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t come_ticks_ = 0;      ///< when the last chunk came
  std::uint64_t interval_ticks_ = 0;  ///< between chunks, smoothed
  std::size_t wake_at_ = 0;           ///< chunks that wake the waiting consumer; 0: it doesn't wait
  InputDriver driver_;                ///< last: it uses the others
};

}  // namespace infeed::detail
