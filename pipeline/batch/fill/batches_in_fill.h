#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <infeed/pipeline/detail/row_filling.h>

#include "batch/fill/batch_in_fill.h"
#include "batch/fill/batch_memory.h"
#include "engine/iterator_context.h"
#include "engine/stage_counters.h"

namespace infeed::detail {

/// The batches that a stage has in the making: gives the input's rows their places in them, keeps the
/// pieces that are to be written, finishes what is written and hands it over in order.
///
/// Invariants: everything is called with the lock of the hand-off held. A row has a place before any
/// behind it has. Who finds no memory for a batch goes away, and a batch that is taken brings somebody
/// back, so that the batches before it will be made. Memory for which there is no room is taken by the
/// first unmade batch alone.
class BatchesInFill {
 public:
  using Lock = std::unique_lock<std::mutex>;

  BatchesInFill(IteratorContext& run, StageCounters& counters, const RowFillSpec& spec);
  ~BatchesInFill();
  BatchesInFill(const BatchesInFill&) = delete;
  BatchesInFill& operator=(const BatchesInFill&) = delete;

  // Rows:
  std::uint64_t rows() const { return rows_; }  ///< that have places
  std::uint64_t first_row_of(const BatchInFill& batch) const { return batch.number * spec_.size; }
  /// Whether rows are to be read, of which so many may have places that nobody has taken.
  bool want_rows(std::uint64_t rows_ahead_max) const;
  /// Gives rows of a stretch their places; false where there is no memory for all of them.
  bool place(const std::shared_ptr<InputRows>& rows, bool consumer_is_away);
  /// The input's error behind the rows that have places.
  void add_error(ErrorPointer error);
  BatchMemory& memory() { return memory_; }
  const BatchMemory& memory() const { return memory_; }

  // Pieces:
  std::size_t pieces() const { return pieces_.size(); }
  /// The first that may be written now, `own` stretches' only where they are given; it is the caller's.
  std::optional<Piece> take_piece(const OwnStretches* own = nullptr);
  bool can_take_piece() const;
  /// Those behind a row can't be written: while batches have grown beyond their memory only the one
  /// with the damage would grow on, which waits for the end of all pieces.
  void drop_pieces_behind(std::uint64_t row);
  void note_written(const Piece& piece, PieceOutcome outcome);

  // Batches:
  /// Makes the batch of what is written, unless rows of it are missing. It is `last` where no rows come
  /// any more; and then of any use, if `keeps_rest`.
  void finish_if_written(Lock& lock, BatchInFill& batch, bool is_last, bool keeps_rest);
  bool are_empty() const { return batches_.empty(); }
  BatchInFill& last() { return *batches_.back(); }
  /// Those in front that are made.
  std::size_t ready() const;
  bool front_is_ready() const;
  bool front_has_error() const { return !batches_.front()->errors.empty(); }
  /// One batch or error; true where it was the last of its batch, and somebody may have waited for
  /// that memory or for room in `rows_ahead_max`.
  bool hand_over_front(Chunk& out, std::uint64_t rows_ahead_max);
  /// The rows from this one on never were.
  void forget_rows_from(std::uint64_t row);

 private:
  BatchInFill& batch_of_next_row();
  bool may_be_written(const Piece& piece) const;
  void drop_rows(BatchInFill& batch);

  MemoryAccount& account_;
  const RowFillSpec& spec_;
  BatchMemory memory_;
  std::deque<std::unique_ptr<BatchInFill>> batches_;
  std::vector<std::unique_ptr<BatchInFill>> spare_;  ///< were taken; to make one costs 0.7 us
  std::uint64_t first_batch_ = 0;                    ///< the number of batches_.front()
  std::uint64_t rows_ = 0;
  std::uint64_t input_errors_ = 0;  ///< before the next row
  std::deque<Piece> pieces_;        ///< to be written
};

}  // namespace infeed::detail
