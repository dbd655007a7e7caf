#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <infeed/detail/hand_off.h>

#include "engine/iterator_context.h"
#include "engine/work/workers.h"
#include "interleave/interleave_cycle.h"

namespace infeed::detail {

/// An inner dataset that threads read ahead. All is guarded by the hand-off of InnerReaders, but for
/// the outer element and the stream, which belong to the thread that is `busy` with it.
struct InnerReadAhead {
  // What is kept ready of one inner dataset: so much, or two elements where that is more. Handing
  // over less would cost a thread switch (21 us) each time.
  static constexpr std::uint64_t kReadyBytes = 128 * 1024;
  static constexpr std::uint64_t kReadyElements = 2;

  explicit InnerReadAhead(const TypeInfo& outer_type) : element(outer_type, 1) {}

  bool has_room() const { return ready_bytes < kReadyBytes || ready_elements < kReadyElements; }
  bool is_low() const { return 2 * ready_bytes < kReadyBytes || ready_elements < kReadyElements; }
  bool is_free() const { return !busy && !ended && error == nullptr && failure == nullptr; }

  void drop_ready() {
    ready.clear();
    ready_places.clear();
    ready_elements = ready_bytes = 0;
  }

  Chunk element;  ///< the outer one, until it is opened
  InnerStream stream;
  std::uint64_t position = 0;
  std::deque<Chunk> ready;  ///< each with what it holds of the account
  // In an iterator that records: of the chunks in `ready`, and of the one that was taken last.
  std::deque<InnerPlaces> ready_places;
  InnerPlaces taken_places = {};
  std::uint64_t ready_elements = 0;
  std::uint64_t ready_bytes = 0;
  ErrorPointer error;    ///< why there is no inner dataset
  ErrorPointer failure;  ///< terminal: what opening or reading it threw
  bool opened = false;   ///< or it is known that it can't be
  bool busy = false;
  bool ended = false;
};

struct InnerReadersOptions {
  std::uint64_t cycle_length;
  int threads;  ///< at the start
  bool ordered;
};

/// The threads of a parallel interleave: one takes outer elements; the others open their inner
/// datasets and read all that are open ahead, first what the consumer waits for, then what has
/// nothing ready, in the order of its need.
///
/// Invariants: an inner dataset is opened and read by one thread at a time (`busy`); the outer input
/// belongs to the outer thread. pending_ holds the inner datasets that no slot has taken yet, in the
/// order of their outer elements. A reader never waits for room in one of them: it looks for another
/// one, so that which the consumer waits for gets a thread as soon as one comes back from a read.
/// Memory is reserved before a read; when there is none, only that one is read, one element at a
/// time, so a small limit slows down and never locks up. What inner datasets themselves must hold (a
/// cache, a shuffle) may not fit because of what is read ahead: then nothing is any more (in_step_),
/// and those that are ahead of the consumer rest, to be opened again when it comes to them. So it is
/// refused only where it would be without threads, whatever these have done. Stages are opened and closed without the
/// lock, since they may register with the run, whose cancel() calls stop().
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
  /// So many threads read from now on, at least one; more only where there are. Of the tuner.
  void set_workers(int workers);

  Supply open(std::size_t slot, ErrorPointer& error) override;
  Supply refill(std::size_t slot, Chunk& out) override;
  Pull wait() override;
  InnerPlaces places(std::size_t slot) const override { return cycle_[slot]->taken_places; }

 private:
  /// What the consumer waits for: elements of one inner dataset, the opening of the next one, or
  /// anything.
  enum class Awaited { nothing, elements, opening, anything };

  /// What a read may bring.
  struct Grant {
    std::size_t want;
    HeldBytes held;
  };

  void take_outer_element(std::unique_lock<std::mutex>& lock);
  bool wants_outer() const;
  InnerReadAhead* claim();
  InnerReadAhead* choose() const;
  InnerReadAhead* choose_in_step() const;
  InnerReadAhead* first_in_need(bool only_empty) const;
  bool is_wanted(const InnerReadAhead& inner) const;
  bool others_come_first(const InnerReadAhead& inner) const;
  void open_inner(NodePointer node, InnerReadAhead& inner, ErrorPointer& error) const;
  bool open_element(std::unique_lock<std::mutex>& lock, InnerReadAhead& inner);
  void work_on(std::unique_lock<std::mutex>& lock, InnerReadAhead& inner);
  bool read_once(std::unique_lock<std::mutex>& lock, InnerReadAhead& inner, Chunk& chunk);
  bool note_failure(std::unique_lock<std::mutex>& lock, InnerReadAhead& inner, ErrorPointer failure,
                    bool was_in_step);
  std::unique_ptr<Stage> step_back(InnerReadAhead& inner, std::uint64_t unread);
  Grant reserve(const InnerReadAhead& inner);
  void publish(InnerReadAhead& inner, Chunk& chunk, InnerPlaces places);
  Chunk take_spare();
  void give_spare(Chunk chunk);

  void place(std::size_t slot, std::unique_ptr<InnerReadAhead> inner);
  std::unique_ptr<InnerReadAhead> take_opened();
  void take_chunk(InnerReadAhead& inner, Chunk& out);
  bool something_is_ready() const;
  void wait_for(std::unique_lock<std::mutex>& lock, Awaited what, InnerReadAhead* inner = nullptr);
  void wake_outer();
  void publish_level();

  IteratorContext& run_;
  StageCounters& counters_;
  const TypeInfo& type_;
  const TypeInfo& outer_type_;
  OuterInput& outer_;
  const InnerOpener& opener_;
  const InnerReadersOptions options_;

  HandOff hand_off_;  ///< finished: the outer input is over; aborted: one of our threads failed
  WaitPoint ready_{hand_off_};
  std::vector<std::unique_ptr<InnerReadAhead>> cycle_;  ///< by slot; null where none is open
  std::deque<std::unique_ptr<InnerReadAhead>> pending_;
  std::vector<Chunk> spare_;
  int readers_wanted_;
  bool has_started_ = false;
  std::size_t open_in_cycle_ = 0;
  std::size_t turn_ = 0;  ///< the slot that the consumer was at last
  std::uint64_t elements_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_per_element_ = 0;  ///< smoothed; 0: none has been seen
  Awaited awaited_ = Awaited::nothing;
  InnerReadAhead* wanted_ = nullptr;  ///< of Awaited::elements; else null
  bool collects_ = false;             ///< it would rather have a heap of them than one chunk
  bool open_was_refused_ = false;     ///< a slot is empty because nothing was open yet
  bool memory_short_ = false;
  bool in_step_ = false;  ///< there was no memory for inner datasets that are ahead of the consumer
  int busy_ = 0;          ///< inner datasets that are opened or read
  // Last: they use the others.
  Workers<OuterInput> outer_reader_;
  Workers<InnerReadAhead> readers_;
};

}  // namespace infeed::detail
