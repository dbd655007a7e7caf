#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <infeed/pipeline/chunk.h>

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
  /// `keeps_history` is needed for trace().
  InterleaveCycle(const TypeInfo& type, std::uint64_t cycle_length, std::uint64_t block_length,
                  bool keeps_history)
      : type_(type),
        history_(keeps_history ? std::make_unique<CycleHistory>(block_length) : nullptr),
        cycle_length_(cycle_length),
        block_length_(block_length),
        block_left_(block_length) {}

  /// `position` is the number of elements before these.
  Pull pull(InnerSupplier& supplier, Chunk& out, std::size_t want, std::uint64_t position);

  /// Passes over elements as pull() would, but skips inner datasets instead of reading them. If no
  /// element fails, cardinalities are exact, and whole rounds are passed over at once.
  std::uint64_t skip(SerialInnerSupplier& supplier, std::uint64_t count, Known known,
                     const IteratorContext& run);

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
    bool is_traced = false;  ///< its current elements can be traced, so far
    Chunk in;
  };

  Slot& at_hand();
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
  std::uint64_t drop_buffered(Slot& slot, std::uint64_t count);
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
};

}  // namespace infeed::detail
