#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <infeed/pipeline/chunk.h>

#include "interleave/inner_stream.h"

namespace infeed::detail {

/// An inner dataset that threads read ahead. All is guarded by the hand-off of InnerReaders, but for
/// the outer element and the stream, which belong to the thread that is `busy` with it.
struct InnerReadAhead {
  // So much is kept ready of one inner dataset, or two elements where that is more. Handing over less
  // would cost a thread switch (21 us) each time.
  static constexpr std::uint64_t kReadyBytes = 128 * 1024;
  static constexpr std::uint64_t kReadyElements = 2;

  explicit InnerReadAhead(const TypeInfo& outer_type) : element(outer_type, 1) {}

  bool has_room() const { return ready_bytes < kReadyBytes || ready_elements < kReadyElements; }
  bool is_low() const { return 2 * ready_bytes < kReadyBytes || ready_elements < kReadyElements; }
  bool is_free() const { return !busy && !ended && error == nullptr && failure == nullptr; }
  bool has_news() const { return !ready.empty() || ended || failure != nullptr; }

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

/// The consumer waits for elements of one inner dataset, for the next one to be opened, or for anything.
enum class Awaited { nothing, elements, opening, anything };

/// The inner datasets of a parallel interleave, those in the cycle's slots and those to come, and which
/// of them needs a reader most: first what the consumer waits for, then what has nothing ready, in the
/// order of its need.
///
/// Thread-safety: none; the hand-off's lock guards it.
class CycleAhead {
 public:
  CycleAhead(std::uint64_t cycle_length, bool ordered)
      : cycle_length_(cycle_length), ordered_(ordered) {}

  InnerReadAhead& at(std::size_t slot) { return *cycle_[slot]; }
  const InnerReadAhead& at(std::size_t slot) const { return *cycle_[slot]; }
  void place(std::size_t slot, std::unique_ptr<InnerReadAhead> inner);
  std::unique_ptr<InnerReadAhead> take(std::size_t slot);
  /// Adds one to those to come, in the order of their outer elements.
  void add(std::unique_ptr<InnerReadAhead> inner) { pending_.push_back(std::move(inner)); }
  std::size_t to_come() const { return pending_.size(); }
  /// Takes the next one that is open, or known to be impossible; null when there is none yet.
  std::unique_ptr<InnerReadAhead> take_opened();
  /// Whether so many readers have a use for another outer element: as many inner datasets ahead as there
  /// are readers; while the cycle fills up, twice as many.
  bool wants_outer(std::uint64_t readers) const;
  /// Calls function(inner, is_in_cycle) for all of them.
  template <class Function>
  void for_each(Function function) {
    for (const auto& inner : cycle_) {
      if (inner != nullptr) function(*inner, true);
    }
    for (const auto& inner : pending_) function(*inner, false);
  }

  // Where the consumer is:
  void set_turn(std::size_t slot) { turn_ = slot; }
  void await(Awaited what, InnerReadAhead* inner);
  Awaited awaited() const { return awaited_; }
  bool is_wanted(const InnerReadAhead& inner) const {
    return wanted_ == &inner || awaited_ == Awaited::anything;
  }
  /// Whether a slot has anything, or is empty though something is open for it.
  bool has_news(bool slot_is_empty, bool outer_is_over) const;

  /// Only what the consumer waits for is read from now on, one at a time.
  void go_in_step() { in_step_ = true; }
  bool is_in_step() const { return in_step_; }
  void set_memory_short(bool is_short) { memory_short_ = is_short; }
  bool is_memory_short() const { return memory_short_; }

  /// Returns the one that needs work most; null: none.
  InnerReadAhead* choose() const;
  /// The same for a reader, who is busy with it until release().
  InnerReadAhead* claim();
  void release(InnerReadAhead& inner);
  /// Whether a reader of this one had better look at others.
  bool others_come_first(const InnerReadAhead& inner) const;

 private:
  InnerReadAhead* choose_in_step() const;
  InnerReadAhead* first_in_need(bool only_empty) const;

  const std::uint64_t cycle_length_;
  const bool ordered_;
  std::vector<std::unique_ptr<InnerReadAhead>> cycle_;  ///< by slot; null where none is open
  std::deque<std::unique_ptr<InnerReadAhead>> pending_;
  std::size_t open_in_cycle_ = 0;
  std::size_t turn_ = 0;  ///< the slot that the consumer was at last
  Awaited awaited_ = Awaited::nothing;
  InnerReadAhead* wanted_ = nullptr;  ///< of Awaited::elements; else null
  bool memory_short_ = false;
  bool in_step_ = false;  ///< there was no memory for inner datasets that are ahead of the consumer
  int busy_ = 0;          ///< inner datasets that are opened or read
};

}  // namespace infeed::detail
