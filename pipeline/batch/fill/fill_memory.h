#pragma once

#include <cstdint>

#include <infeed/pipeline/detail/row_filling.h>
#include <infeed/pipeline/reservation.h>

#include "batch/fill/batch_in_fill.h"
#include "engine/iterator_context.h"
#include "engine/stage_counters.h"

namespace infeed::detail {

/// Holds the memory account's share of the batches in the making. One batch uses the memory that
/// the stage took when it was opened, so it is made whatever others hold. The other batches are
/// begun if there is room. Called with the lock of the hand-off held.
class FillMemory {
 public:
  FillMemory(IteratorContext& run, StageCounters& counters, const RowFillSpec& spec);

  /// Reserves memory for a new batch. Returns false if there is no room now.
  bool try_begin(BatchInFill& batch, bool consumer_is_away);
  /// Says that the batch has grown to that many bytes. Leaves a refusal in the batch, whose turn it
  /// may not be yet.
  void hold(BatchInFill& batch, const FillingBytes& bytes);
  void note_made(BatchInFill& batch);
  /// Says that the batch was handed over, or that its rows were dropped.
  void note_gone(const BatchInFill& batch) {
    note_buffered(0 - batch.made.size(), 0 - batch.made.bytes());
  }
  void release(BatchInFill& batch);

  /// Returns true if a batch found no room since look_again().
  bool is_short() const { return is_short_; }
  void look_again() { is_short_ = false; }
  /// Returns true if batches have grown to more than there is room for.
  bool is_over() const { return over_bytes_ != 0; }
  std::uint64_t batch_bytes() const { return batch_bytes_; }  ///< expected for the next batch

 private:
  void reserve(BatchInFill& batch, const FillingBytes& bytes);
  void note_buffered(std::uint64_t batches, std::uint64_t bytes);

  MemoryAccount& account_;
  StageCounters& counters_;
  const std::uint64_t batch_bytes_min_;
  const bool knows_spare_bytes_;
  Reservation required_;
  bool required_is_free_ = true;
  std::uint64_t batch_bytes_;
  std::uint64_t over_bytes_ = 0;
  std::uint64_t buffered_batches_ = 0;  ///< batches that are made
  std::uint64_t buffered_bytes_ = 0;
  bool is_short_ = false;
};

}  // namespace infeed::detail
