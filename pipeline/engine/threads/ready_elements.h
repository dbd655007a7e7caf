#pragma once

#include <chrono>
#include <stop_token>

#include "engine/iterator_context.h"
#include "engine/threads/thread_budget.h"
#include "engine/work/chunk_queue.h"

namespace infeed::detail {

/// A descriptor that is readable while it is set, for a host's poll().
class ReadyEvent {
 public:
  ReadyEvent();
  ~ReadyEvent();
  ReadyEvent(const ReadyEvent&) = delete;
  ReadyEvent& operator=(const ReadyEvent&) = delete;

  void set() const;
  void clear() const;
  /// It belongs to this object.
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

/// Keeps the next elements of an iterator ready, in a thread of its own, so that a host with an
/// event loop can ask for one without waiting, or wait with a limit.
///
/// Invariants: it is made and used by the consumer's thread, behind whose back only the queue's
/// thread pulls `root`; the event is set from when something is there until the consumer found nothing (so
/// it may be set for no reason, but is never silent with one). It stays set at the end.
class ReadyElements {
 public:
  /// The event lives longer than this.
  ReadyElements(IteratorContext& run, const TypeInfo& type, Stage& root, ThreadShare thread,
                const ReadyEvent& event);

  /// Whether pop() gives something at once (elements, the end, an error), waiting for that until
  /// the deadline or a stop.
  bool is_ready(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop);
  /// As Stage::pull().
  Pull pop(Chunk& out) { return queue_.pop(out); }

 private:
  const ThreadShare thread_;
  const ReadyEvent& event_;
  ChunkQueue queue_;
  CancellationWaker waker_;
};

}  // namespace infeed::detail
