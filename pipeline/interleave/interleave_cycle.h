#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/resume.h>

#include "engine/move_values.h"
#include "interleave/cycle_history.h"
#include "interleave/inner_stream.h"

namespace infeed::detail {

enum class Supply : std::uint8_t {
  values,
  end,
  cancelled,
  not_yet,  ///< only from a supplier that doesn't wait: try another slot
};

/// Supplies the cycle's slots with inner datasets and their elements.
class InnerSupplier {
 public:
  virtual ~InnerSupplier() = default;
  /// Opens the inner dataset of the next outer element in a free slot. If there is none, it sets
  /// `error` to the reason, and the slot stays free.
  virtual Supply open(std::size_t slot, ErrorPointer& error) = 0;
  /// Puts the next elements of an open slot's inner dataset into `out`, which is empty. Supply::end
  /// frees the slot.
  virtual Supply refill(std::size_t slot, Chunk& out) = 0;
  /// Returns the places of the elements that the slot's last refill gave, if the iterator records.
  virtual InnerPlaces places(std::size_t slot) const = 0;
  /// Waits until a slot has elements again. Called when none had.
  virtual Pull wait() = 0;
};

/// Opens and reads in the calling thread, on request.
class SerialInnerSupplier final : public InnerSupplier {
 public:
  SerialInnerSupplier(const TypeInfo& outer_type, OuterInput& outer, const InnerOpener& opener)
      : outer_(outer), opener_(opener), element_(outer_type, 1) {}

  Supply open(std::size_t slot, ErrorPointer& error) override;
  Supply refill(std::size_t slot, Chunk& out) override;
  InnerPlaces places(std::size_t slot) const override { return streams_[slot].places(); }
  Pull wait() override { return Pull::values; }
  /// The open stream in a slot, for a skip or for threads that take it over.
  InnerStream& stream(std::size_t slot) { return streams_[slot]; }

 private:
  OuterInput& outer_;
  const InnerOpener& opener_;
  Chunk element_;
  std::vector<InnerStream> streams_;  ///< by slot
};

/// Decides whose turn it is in an interleave, and nothing else. Serial and parallel stages differ
/// only in their supplier, so their orders can't differ.
///
/// The slots form a ring of cycle_length. The current slot gives up to block_length elements. An
/// empty slot opens the next inner dataset. When a slot's inner dataset has ended, the slot empties
/// and passes the turn on. An error within an inner dataset is one of its elements. An outer
/// element without an inner dataset (an error) is handed over in passing: the slot stays current
/// and opens the next one.
class InterleaveCycle {
 public:
  /// `kept` is what trace() needs.
  InterleaveCycle(const TypeInfo& type, std::uint64_t cycle_length, std::uint64_t block_length,
                  KeptPlaces kept)
      : type_(type),
        history_(kept == KeptPlaces::none ? nullptr
                                          : std::make_unique<CycleHistory>(block_length, kept)),
        cycle_length_(cycle_length),
        block_length_(block_length),
        block_left_(block_length) {}

  /// `position` is the number of elements before these.
  Pull pull(InnerSupplier& supplier, Chunk& out, std::size_t want, std::uint64_t position);

  /// Passes over elements as pull() would, but skips inner datasets instead of reading them. If no
  /// element fails, cardinalities are exact, and whole rounds are passed over at once.
  std::uint64_t skip(SerialInnerSupplier& supplier, std::uint64_t count, Known known,
                     const IteratorContext& run);

  /// Returns the place that go_to() goes on from, or nothing if it takes too many numbers. Its
  /// inputs have the first outer element that is needed again. Don't ask for a cycle without an
  /// order.
  std::optional<Bookmark> place() const;
  /// Opens the inner datasets of a place, before the first element. pass_over(position, known)
  /// passes over the outer input up to an element, and says false when cancelled. Returns false
  /// then; throws what the inner datasets throw. Returns nothing for a place that is none.
  template <class PassOver>
  std::optional<bool> go_to(SerialInnerSupplier& supplier, const Bookmark& place, Known known,
                            const PassOver& pass_over);

  /// Returns where the element at a position came from. From any thread.
  TracedPlace trace(std::uint64_t position) const;

  template <class Visit>
  void for_each_open_slot(Visit visit) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].is_open) visit(i);
    }
  }

 private:
  struct Slot {
    explicit Slot(const TypeInfo& type) : in(type) {}
    bool is_open = false;
    bool is_traced = false;   ///< its current elements can be traced, so far
    std::uint64_t outer = 0;  ///< number of its outer element
    std::uint64_t taken = 0;  ///< elements of its inner dataset that were given
    Chunk in;
  };

  /// The numbers of a place before those of its slots, and for each open slot.
  enum PlaceNumber : std::size_t { kAt, kBlockLeft, kOuterEnded, kSlots, kOpened, kPlaceNumbers };
  enum SlotNumber : std::size_t { kSlot, kOuter, kTaken, kSlotNumbers };
  static constexpr std::size_t kOpenMax = 256;

  bool take_over(const Bookmark& place);
  void note_open(Slot& slot);
  Slot& at_hand();
  /// True for a slot that nothing comes into any more. Its turns are passed over at once: 4 datasets
  /// that are left of 20 would otherwise take five times as long. The history knows no such turns.
  bool is_over(const Slot& slot) const { return !slot.is_open && outer_ended_ && !history_; }
  void advance();
  void pass_on();
  void step(std::uint64_t count);
  void close(Slot& slot);
  void note_places(InnerSupplier& supplier, Slot& slot);
  Supply fill(InnerSupplier& supplier, Slot& slot, ErrorPointer& error);
  std::size_t rounds_at_hand(std::size_t room) const;
  template <std::size_t kSize>
  void take_rounds(std::byte* to, std::size_t rounds);
  template <std::size_t kSize>
  void take_values(Chunk& out, std::size_t want);
  std::uint64_t drop_buffered(Slot& slot, std::uint64_t count, Known known);
  std::uint64_t skip_rounds(SerialInnerSupplier& supplier, std::uint64_t count, Known known);

  void give_values(Chunk& out, std::size_t want, std::uint64_t position);

  const TypeInfo& type_;
  const std::unique_ptr<CycleHistory> history_;
  const std::uint64_t cycle_length_;
  const std::uint64_t block_length_;
  std::vector<Slot> slots_;  ///< grows up to cycle_length as slots are visited
  // at_ and block_left_ are written together by one store of 16 bytes. If that crosses a cache line
  // each element waits for it: 36 ns instead of 16.
  alignas(16) std::size_t at_ = 0;
  std::uint64_t block_left_;
  std::size_t open_ = 0;  ///< slots with an inner dataset
  bool outer_ended_ = false;
  std::uint64_t opened_ = 0;  ///< outer elements so far, also those without an inner dataset
};

template <class PassOver>
std::optional<bool> InterleaveCycle::go_to(SerialInnerSupplier& supplier, const Bookmark& place,
                                           Known known, const PassOver& pass_over) {
  if (!take_over(place)) return std::nullopt;
  for (std::size_t at = kPlaceNumbers; at < place.state.size(); at += kSlotNumbers) {
    const std::uint64_t* const numbers = place.state.data() + at;
    const auto slot = static_cast<std::size_t>(numbers[kSlot]);
    if (!pass_over(numbers[kOuter])) return false;
    ErrorPointer error;
    const Supply opened = supplier.open(slot, error);
    if (opened == Supply::cancelled) return false;
    if (error != nullptr) throw Error(*error);
    if (opened != Supply::values) return std::nullopt;
    if (supplier.stream(slot).skip(numbers[kTaken], known) < numbers[kTaken]) return std::nullopt;
  }
  return pass_over(opened_);
}

}  // namespace infeed::detail
