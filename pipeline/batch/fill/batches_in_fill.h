#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <infeed/pipeline/detail/row_filling.h>

#include "batch/fill/batch_in_fill.h"
#include "batch/fill/fill_memory.h"
#include "batch/fill/row_origins.h"
#include "engine/iterator_context.h"
#include "engine/stage_counters.h"

namespace infeed::detail {

/// The batches that a stage has in the making. Gives the input's rows their places in them, keeps
/// the pieces that are to be written, finishes written batches and hands them over in order.
///
/// Invariants: everything is called with the lock of the hand-off held. A row gets its place before
/// any later row does. A worker that finds no memory for a batch goes idle, and taking a batch
/// wakes one worker, so that every batch will be made. Only the first unmade batch takes memory
/// beyond the limit. A batch whose memory is refused ends the stream in its place, behind all that
/// comes before it: its rows are written on and forgotten, since one may turn out to be damaged.
class BatchesInFill {
 public:
  using Lock = std::unique_lock<std::mutex>;

  BatchesInFill(IteratorContext& run, StageCounters& counters, const RowFillSpec& spec,
                RowOrigins& origins);
  ~BatchesInFill();
  BatchesInFill(const BatchesInFill&) = delete;
  BatchesInFill& operator=(const BatchesInFill&) = delete;

  // Rows:
  /// The elements of the input that have places.
  struct Placed {
    std::uint64_t rows = 0;
    std::uint64_t errors = 0;
    std::uint64_t errors_given = 0;  ///< those of the errors that were handed over
    std::uint64_t elements() const { return rows + errors; }
  };
  const Placed& placed() const { return placed_; }
  /// Returns true if rows should be read. At most `rows_ahead_max` elements, errors included, may
  /// have places without being taken.
  bool want_rows(std::uint64_t rows_ahead_max) const;
  /// Gives the rows of a stretch their places. Returns false if there isn't memory for all of them.
  bool place(const std::shared_ptr<InputRows>& rows, bool consumer_is_away);
  /// Adds an error of the input, after the rows that have places. Takes over the error's part of
  /// what its stretch holds.
  void add_error(ErrorPointer error, HeldBytes& held);
  FillMemory& memory() { return memory_; }
  const FillMemory& memory() const { return memory_; }

  // Pieces:
  std::size_t pieces() const { return pieces_.size(); }
  /// Takes the first piece that may be written now. With `own`, only pieces of those stretches
  /// count.
  std::optional<Piece> take_piece(const OwnStretches* own = nullptr);
  bool can_take_piece() const;
  /// Drops the pieces after a row, which can't be written. While batches have grown beyond their
  /// memory, only the batch with the damage could grow on, and that one waits for the end of all
  /// pieces.
  void drop_pieces_behind(std::uint64_t row);
  void note_written(const Piece& piece, PieceOutcome outcome);

  // Batches:
  /// Makes the batch of the written rows, unless rows are missing. `is_last` says that no more rows
  /// come. Then a short batch is made only if `keeps_rest`.
  void finish_if_written(Lock& lock, BatchInFill& batch, bool is_last, bool keeps_rest);
  bool are_empty() const { return batches_.empty(); }
  BatchInFill& last() { return *batches_.back(); }
  /// Returns how many batches in front are made.
  std::size_t ready() const;
  bool front_is_ready() const;
  bool front_has_error() const { return !batches_.front()->errors.empty(); }
  /// Hands over one batch or error, the stage's element at `position`. Returns true if somebody may
  /// have waited for its memory, or for room in `rows_ahead_max`. Throws the refusal of the batch's
  /// memory.
  bool hand_over_front(Chunk& out, std::uint64_t position, std::uint64_t rows_ahead_max);
  /// Returns how many elements of the input, errors included, the batches had that were handed
  /// over, and so many in front. Not between a batch and its errors.
  std::uint64_t elements_given(std::size_t in_front = 0) const {
    const std::uint64_t rows =
        std::min((first_batch_ + in_front) * spec_.size, placed_.rows);  // one may be short
    return rows + placed_.errors_given;
  }
  /// Forgets the rows from this one on.
  void forget_rows_from(std::uint64_t row);

 private:
  BatchInFill& batch_of_next_row();
  bool may_be_written(const Piece& piece) const;
  void drop_rows(BatchInFill& batch);

  MemoryAccount& account_;
  const RowFillSpec& spec_;
  RowOrigins& origins_;
  FillMemory memory_;
  std::deque<std::unique_ptr<BatchInFill>> batches_;
  std::vector<std::unique_ptr<BatchInFill>> spare_;  ///< for reuse; making one costs 0.7 us
  std::uint64_t first_batch_ = 0;                    ///< the number of batches_.front()
  Placed placed_;
  std::deque<Piece> pieces_;  ///< to be written
};

}  // namespace infeed::detail
