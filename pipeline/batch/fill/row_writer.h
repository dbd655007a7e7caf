#pragma once

#include <infeed/pipeline/detail/row_filling.h>
#include <infeed/pipeline/stage.h>

#include "batch/fill/batch_in_fill.h"
#include "engine/iterator_context.h"
#include "engine/recording/one_by_one.h"
#include "engine/stage_counters.h"

namespace infeed::detail {

/// Writes the elements or records of a piece to their rows. The caller owns the rows meanwhile.
///
/// Thread-safety: several threads may write different pieces at once. If rows are appended, only
/// one thread may write to a batch at a time.
class RowWriter {
 public:
  RowWriter(const IteratorContext& run, StageCounters& counters, const RowFillSpec& spec,
            const Stage& input, const Place& begin)
      : run_(run), counters_(counters), spec_(spec), input_(input), begin_(begin) {}

  /// Skips rows of the input. Only before the first piece.
  void note_skipped(std::uint64_t rows) { begin_.position += rows; }
  const Place& begin() const { return begin_; }  ///< place of row 0
  PieceOutcome write(const Piece& piece, bool is_sampled) const;

 private:
  class Watch;

  void write_elements(const Piece& piece, PieceOutcome& outcome) const;
  void write_records(const Piece& piece, PieceOutcome& outcome) const;
  Place place_of(const Piece& piece) const;
  std::size_t next_row(const Piece& piece, const PieceOutcome& outcome, std::size_t i) const;

  const IteratorContext& run_;
  StageCounters& counters_;
  const RowFillSpec& spec_;
  const Stage& input_;
  Place begin_;
  mutable OneByOne one_by_one_;  ///< if the iterator records
};

}  // namespace infeed::detail
