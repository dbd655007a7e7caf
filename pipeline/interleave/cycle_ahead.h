#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <infeed/pipeline/chunk.h>

#include "interleave/inner_stream.h"

namespace infeed::detail {

/// An inner dataset that threads read ahead. The hand-off of InnerReaders guards everything except
/// the outer element and the stream, which belong to the thread that is `busy` with it.
struct InnerReadAhead {
  // The elements that are kept ready of one inner dataset: 128 KiB, or two elements if those are
  // more. Handing over fewer would cost a thread switch (21 us) each time.
  static constexpr std::uint64_t kReadyBytes = 128 * 1024;
  static constexpr std::uint64_t kReadyElements = 2;

  explicit InnerReadAhead(const TypeInfo& outer_type) : element(outer_type, 1) {}

  bool has_room() const { return ready_bytes < kReadyBytes || ready_elements < kReadyElements; }
  bool is_low() const { return 2 * ready_bytes < kReadyBytes || ready_elements < kReadyElements; }
  bool is_free() const { return !busy && !ended && error == nullptr && failure == nullptr; }
  bool has_news() const { return !ready.empty() || ended || failure != nullptr; }

  Chunk element;  ///< the outer element, until it is opened
  InnerStream stream;
  std::uint64_t position = 0;
  std::deque<Chunk> ready;  ///< each with its part of the account
  // Only if the iterator records: places of the chunks in `ready`, and of the chunk taken last.
  std::deque<InnerPlaces> ready_places;
  InnerPlaces taken_places = {};
  std::uint64_t ready_elements = 0;
  std::uint64_t ready_bytes = 0;
  ErrorPointer error;    ///< why there is no inner dataset
  ErrorPointer failure;  ///< the terminal error of opening or reading it
  bool opened = false;   ///< or it is known that it can't be
  bool busy = false;
  bool ended = false;
};

/// The thing that the consumer waits for: elements of one inner dataset, the opening of the next
/// one, or anything.
enum class Awaited { nothing, elements, opening, anything };

/// The inner datasets of a parallel interleave, in the cycle's slots and to come. Chooses the one
/// that needs a reader most: first the one that the consumer waits for, then those with nothing
/// ready, in the order in which the consumer needs them.
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
  /// Adds an inner dataset to those to come, in the order of their outer elements.
  void add(std::unique_ptr<InnerReadAhead> inner) { pending_.push_back(std::move(inner)); }
  std::size_t to_come() const { return pending_.size(); }
  /// Takes the next inner dataset that is open, or that can't be opened; null if there is none yet.
  std::unique_ptr<InnerReadAhead> take_opened();
  /// Returns true if `readers` readers need another outer element: as many inner datasets ahead as
  /// there are readers, and twice as many while the cycle fills up.
  bool wants_outer(std::uint64_t readers) const;
  /// Calls function(inner, is_in_cycle) for all inner datasets.
  template <class Function>
  void for_each(Function function) {
    for (const auto& inner : cycle_) {
      if (inner != nullptr) function(*inner, true);
    }
    for (const auto& inner : pending_) function(*inner, false);
  }

  // The consumer's place:
  void set_turn(std::size_t slot) { turn_ = slot; }
  void await(Awaited what, InnerReadAhead* inner);
  Awaited awaited() const { return awaited_; }
  bool is_wanted(const InnerReadAhead& inner) const {
    return wanted_ == &inner || awaited_ == Awaited::anything;
  }
  /// Returns true if a slot has elements, or is empty although an inner dataset is open for it.
  bool has_news(bool slot_is_empty, bool outer_is_over) const;

  /// From now on reads only the inner dataset that the consumer waits for, one at a time.
  void go_in_step() { in_step_ = true; }
  bool is_in_step() const { return in_step_; }
  void set_memory_short(bool is_short) { memory_short_ = is_short; }
  bool is_memory_short() const { return memory_short_; }

  /// Returns the inner dataset that needs work most; null: none.
  InnerReadAhead* choose() const;
  /// Returns the same for a reader, which is busy with it until release().
  InnerReadAhead* claim();
  void release(InnerReadAhead& inner);
  /// Returns true if a reader of this inner dataset should look at others.
  bool others_come_first(const InnerReadAhead& inner) const;

 private:
  /// The reason to read an inner dataset: it has no elements ready, or few.
  enum class Need { of_any_in_cycle, of_any, of_more };

  InnerReadAhead* choose_in_step() const;
  InnerReadAhead* first_in_need(Need need) const;

  const std::uint64_t cycle_length_;
  const bool ordered_;
  std::vector<std::unique_ptr<InnerReadAhead>> cycle_;  ///< by slot; null where none is open
  std::deque<std::unique_ptr<InnerReadAhead>> pending_;
  std::size_t open_in_cycle_ = 0;
  std::size_t turn_ = 0;  ///< last slot that the consumer visited
  Awaited awaited_ = Awaited::nothing;
  InnerReadAhead* wanted_ = nullptr;  ///< for Awaited::elements; else null
  bool memory_short_ = false;
  bool in_step_ = false;  ///< memory ran out for inner datasets ahead of the consumer
  int busy_ = 0;          ///< number of inner datasets that are opened or read
};

}  // namespace infeed::detail
