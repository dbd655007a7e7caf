#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <stop_token>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/chunk.h>

#include "engine/iterator_context.h"
#include "engine/threads/elements_in_hand.h"
#include "engine/threads/input_turn.h"

namespace infeed::detail {

/// How much a queue may hold. A push is admitted when either bound allows it, or the queue is
/// empty.
struct QueueLimits {
  std::uint64_t elements_max;
  std::uint64_t bytes_max;
  bool adaptive;  ///< doubles both after the queue was full and then kept the consumer waiting

  /// What a queue of that depth may hold.
  static QueueLimits of_depth(std::uint64_t depth, bool adaptive) {
    return {.elements_max = depth, .bytes_max = depth * kBytesPerDepth, .adaptive = adaptive};
  }
  static constexpr std::uint64_t kBytesPerDepth = 16 * 1024;
  static constexpr std::uint64_t kAdaptiveDepthMax = 4096;
};

/// A bounded queue of chunks between one producer thread and one consumer thread.
///
/// A hand-off through the kernel costs 21 us, so nobody is woken for one chunk when more are soon
/// to come: the producer is woken at half empty, the consumer when there is as much as arrives in
/// about 200 us (at most half of the queue), which it learns from the intervals between chunks. A
/// chunk that comes alone after a long time wakes it at once.
///
/// Memory: the producer asks before it pulls, and gets an answer while the account has room, or when
/// the consumer has found the queue empty. (A limit below one element would be a deadlock otherwise.
/// Where queues stand behind each other, only those pull then whose consumer waits, so that one element is
/// under way in all of them together.) What was pulled is held from then on, in the producer's hand
/// and in the queue.
///
/// Invariants: all members are guarded by hand_off_, but for the constants. Only the producer calls
/// wait_for_room, push and finish, only the consumer pop; stop may come from anywhere.
class ChunkQueue {
 public:
  /// `on_ready` is called whenever an empty queue gets something, and at its end. It must not use
  /// the queue.
  ChunkQueue(IteratorContext& run, StageCounters& counters, const TypeInfo& type,
             const QueueLimits& limits, std::function<void()> on_ready = {});
  ~ChunkQueue();
  ChunkQueue(const ChunkQueue&) = delete;
  ChunkQueue& operator=(const ChunkQueue&) = delete;

  /// Waits until the producer may pull, and returns how many elements; 0 when stopped.
  std::size_t wait_for_room(std::size_t elements_max);
  /// Takes the chunk's content and leaves an empty chunk; waits while the queue is too long. False
  /// when stopped.
  bool push(Chunk& chunk);
  /// Nothing more will be pushed: the input is over or, with `failure`, has failed for good.
  void finish(ErrorPointer failure = nullptr);
  /// Exchanges `out`, which is empty, for the next chunk; waits for one. Throws the failure behind
  /// the last one. In the serial form `out` stays empty once there are no more: from then until
  /// turn().give_back() the consumer has the input.
  Pull pop(Chunk& out);
  void stop();

  /// Whose turn it is to pull the input: the producer's, which is a driver, or the consumer's.
  InputTurn& turn() { return turn_; }
  // Of the tuner:
  void set_serial(bool serial);
  void set_depth(std::uint64_t depth);
  /// Tells the knob of its depth what it doubles itself, and how empty it gets.
  void set_depth_knob(Knob& knob);

  /// Whether pop() returns at once, waiting for that until the deadline or a stop.
  bool wait_until_ready(std::chrono::steady_clock::time_point deadline,
                        const std::stop_token& stop);

 private:
  bool admits(std::uint64_t elements, std::uint64_t bytes) const;
  std::size_t elements_with_room(std::size_t elements_max);
  void wait_for_consumer(std::unique_lock<std::mutex>& lock,
                         const std::function<bool()>& is_admitted);
  void note_interval();
  bool merge_into_last(Chunk& chunk);
  bool wait_for_chunks(std::unique_lock<std::mutex>& lock);
  void tell_ready() const;
  void publish_level();
  void publish_limits();
  bool is_worth_more(std::uint64_t waited_ticks);
  void double_depth();

  IteratorContext& run_;
  StageCounters& counters_;
  const TypeInfo& type_;
  const std::function<void()> on_ready_;
  HandOff hand_off_;
  WaitPoint values_{hand_off_};
  WaitPoint room_{hand_off_};
  InputTurn turn_{hand_off_, values_};
  Knob* depth_knob_ = nullptr;
  QueueLimits limits_;
  std::deque<Chunk> chunks_;  ///< each with what it holds of the account
  std::vector<Chunk> spare_;  ///< emptied by the consumer, for the producer
  ElementsInHand in_hand_;    ///< of the producer: what it has pulled, or is about to
  bool is_wanted_ = false;    ///< the consumer has found nothing since the last push
  std::uint64_t elements_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t push_ticks_ = 0;      ///< when the last chunk came
  std::uint64_t interval_ticks_ = 0;  ///< between chunks, smoothed
  std::size_t wake_at_ = 0;           ///< chunks that wake the waiting consumer; 0: nobody waits
  bool producer_waits_ = false;
  bool was_full_ = false;
  std::uint64_t grew_at_ticks_ = 0;  ///< or the consumer waited for the first time
  std::uint64_t stalled_ticks_ = 0;  ///< so long it waited since then for what had been full
};

}  // namespace infeed::detail
