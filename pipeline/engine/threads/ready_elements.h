#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>

#include "engine/iterator_context.h"
#include "engine/threads/thread_budget.h"
#include "engine/work/chunk_queue.h"

namespace infeed::detail {

/// A descriptor for a host's poll(). It is readable while the event is set.
class ReadyEvent {
 public:
  ReadyEvent();
  ~ReadyEvent();
  ReadyEvent(const ReadyEvent&) = delete;
  ReadyEvent& operator=(const ReadyEvent&) = delete;

  void set() const;
  void clear() const;
  /// Belongs to this object.
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

/// Keeps the next elements of an iterator ready, in a thread of its own. So a host with an event
/// loop can ask for an element without waiting, or wait with a time limit.
///
/// Invariants: the consumer's thread makes and uses it; meanwhile only the queue's thread pulls
/// `root`. An event is set when an element comes, until the consumer finds none. So it may be set
/// without an element, but is never unset with one. At the end of the data it stays set.
class ReadyElements {
 public:
  ReadyElements(IteratorContext& run, const TypeInfo& type, Stage& root, ThreadShare thread);

  /// Sets the event from now on. It must outlive this object. Without one, an element costs two
  /// system calls less.
  void tell(const ReadyEvent& event);

  /// Returns true if pop() gives elements, the end or an error at once. Waits for that until the
  /// deadline or a stop.
  bool is_ready(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop);
  /// Works as Stage::pull().
  Pull pop(Chunk& out) { return queue_.pop(out); }

 private:
  const ThreadShare thread_;
  std::atomic<const ReadyEvent*> event_ = nullptr;
  ChunkQueue queue_;
  CancellationWaker waker_;
};

}  // namespace infeed::detail
