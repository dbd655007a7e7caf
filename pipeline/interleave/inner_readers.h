#pragma once

#include <cstdint>
#include <memory>

#include <infeed/detail/hand_off.h>
#include <infeed/detail/workers.h>

#include "engine/iterator_context.h"
#include "interleave/cycle_ahead.h"
#include "interleave/inner_buffers.h"
#include "interleave/interleave_cycle.h"

namespace infeed::detail {

struct InnerReadersOptions {
  std::uint64_t cycle_length;
  int threads;  ///< at the start
  bool ordered;
};

/// The threads of a parallel interleave. One takes outer elements; the others open the inner
/// datasets and read them ahead, as CycleAhead chooses.
///
/// Invariants: one thread at a time opens and reads an inner dataset (`busy`). The outer input
/// belongs to the outer thread. A reader never waits for room in an inner dataset: it goes to
/// another one. So the one that the consumer waits for gets a thread as soon as any read ends.
///
/// Memory is reserved before a read. If there is none, only the inner dataset that the consumer
/// waits for is read, a page at a time, so a small limit slows down and never locks up. The memory
/// that inner datasets themselves must hold (a cache, a shuffle) may not fit because of elements
/// read ahead. Then nothing is read ahead any more, and all inner datasets rest, to be opened again
/// when the consumer comes to them: one that had been read ahead holds more than one that was read
/// for the consumer. So memory is refused only where it would be refused without threads, whatever
/// the threads have done.
///
/// Stages are opened and closed without the lock, since they may register with the run, whose
/// cancel() calls stop().
class InnerReaders final : public InnerSupplier {
 public:
  InnerReaders(IteratorContext& run, StageCounters& counters, const TypeInfo& type,
               const TypeInfo& outer_type, OuterInput& outer, const InnerOpener& opener,
               const InnerReadersOptions& options);
  ~InnerReaders() override;
  InnerReaders(const InnerReaders&) = delete;
  InnerReaders& operator=(const InnerReaders&) = delete;

  /// Takes over an inner dataset that was opened before the start.
  void adopt(std::size_t slot, InnerStream stream);
  void start();
  bool started() const { return has_started_; }
  void stop();
  /// Sets the number of reading threads, for the tuner: at least one, and at most those the system
  /// gives.
  void set_workers(int workers);

  Supply open(std::size_t slot, ErrorPointer& error) override;
  Supply refill(std::size_t slot, Chunk& out) override;
  Pull wait() override;
  InnerPlaces places(std::size_t slot) const override { return ahead_.at(slot).taken_places; }

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool wants_outer() const;
  void wake_outer();
  void take_outer_element(Lock& lock);
  void work_on(Lock& lock, InnerReadAhead& inner);
  bool open_element(Lock& lock, InnerReadAhead& inner);
  void open_inner(NodePointer node, InnerReadAhead& inner, ErrorPointer& error) const;
  InnerBuffers::Grant grant(const InnerReadAhead& inner);
  bool read_once(Lock& lock, InnerReadAhead& inner, Chunk& chunk);
  bool note_failure(Lock& lock, InnerReadAhead& inner, ErrorPointer failure, bool was_in_step);
  std::unique_ptr<Stage> step_back(InnerReadAhead& inner, std::uint64_t unread);
  void wait_for(Lock& lock, Awaited what, InnerReadAhead* inner = nullptr);

  IteratorContext& run_;
  StageCounters& counters_;
  const TypeInfo& outer_type_;
  OuterInput& outer_;
  const InnerOpener& opener_;
  const InnerReadersOptions options_;

  HandOff hand_off_;  ///< finished: the outer input is over; aborted: a thread failed
  WaitPoint ready_{hand_off_};
  CycleAhead ahead_;
  InnerBuffers buffers_;
  int readers_wanted_;
  bool has_started_ = false;
  bool collects_ = false;       ///< the consumer waits for many elements rather than one chunk
  bool slot_is_empty_ = false;  ///< no inner dataset was open for it yet
  // Last: they use the members above.
  Workers<OuterInput> outer_reader_;
  Workers<InnerReadAhead> readers_;
  RoomWaker room_waker_;
};

}  // namespace infeed::detail
