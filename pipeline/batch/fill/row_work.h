#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/detail/record_block_source.h>
#include <infeed/pipeline/detail/row_filling.h>
#include <infeed/pipeline/stage.h>

#include "batch/fill/batches_in_fill.h"
#include "batch/fill/input_stretches.h"
#include "batch/fill/row_writer.h"

namespace infeed::detail {

/// Those who do the work, as far as it must know of them and tell them.
struct RowWorkers {
  std::size_t count = 0;  ///< threads that there are to be; 0: the consumer does it all
  bool consumer_is_away = false;
  std::function<void()> wake_one = nullptr;    ///< there may be more to do
  std::function<void()> tell_ready = nullptr;  ///< a batch, an error or the end may be ready
};

/// The work that fills batches: stretches are read, their rows get places, pieces are written,
/// batches are finished. Who has time claims a Task and runs it; what comes of it is in batches().
///
/// Order: rows and errors are those of the serial form, whoever does what. Where a record of a block
/// turns out to be damaged, what came behind it is forgotten and pulled from the input, which knows
/// what to do about damage.
///
/// Invariants: everything is called with the lock of the hand-off held, and all state is guarded by it,
/// but for what a Task has claimed: the next stretch, the placing of those in front, or a piece's rows.
class RowWork {
 public:
  using Lock = std::unique_lock<std::mutex>;

  struct Task {
    enum class Kind { write, place, read } kind = Kind::write;
    std::optional<Piece> piece = std::nullopt;  ///< to be written
    OwnStretches own = {};                      ///< what the thread has read before
  };

  RowWork(IteratorContext& run, StageCounters& counters, HandOff& hand_off, const RowFillSpec& spec,
          Stage& input, const TypeInfo& in_type, const Place& begin, const RowWorkers& workers);

  /// Takes what is most urgent for the thread whose task it is; false where there is nothing.
  bool claim(Task& task);
  void run(Lock& lock, Task& task);
  bool can_claim() const { return can_place() || can_read() || batches_.can_take_piece(); }
  bool can_read() const;
  bool can_place() const;

  BatchesInFill& batches() { return batches_; }
  const BatchesInFill& batches() const { return batches_; }
  const InputStretches& stretches() const { return stretches_; }
  /// How many rows may have places that nobody has taken: so many that neither the threads nor the
  /// consumer sleep and wake for every batch.
  std::uint64_t rows_ahead_max() const;
  std::uint64_t element_ticks() const { return element_ticks_; }  ///< that one takes to be written
  /// Nobody will find anything to do any more.
  bool is_done() const { return ended_ && is_quiet(); }
  bool is_over() const { return is_done() && batches_.are_empty(); }
  const ErrorPointer& failure() const { return *ended_; }
  /// Before the first task: rows of the input that nobody will ask for.
  void note_skipped(std::uint64_t rows) { writer_.note_skipped(rows); }

 private:
  /// The blocks end at this row.
  struct Damage {
    std::uint64_t row;
    RecordBlockSource::Place place;
  };

  void read_stretch(Lock& lock, OwnStretches& own);
  void place_parked(Lock& lock);
  bool place(Lock& lock, const std::shared_ptr<InputRows>& rows);
  void write(Lock& lock, const Piece& piece);
  void note_cost(const Piece& piece, const PieceOutcome& outcome);
  void finish_if_written(Lock& lock, BatchInFill& batch);
  void note_damage(std::uint64_t row, const RecordBlockSource::Place& place);
  /// Rows that have no place yet lie behind damage.
  bool next_row_is_void() const { return damage_ && damage_->row <= batches_.rows(); }
  bool is_quiet() const {
    return under_way_ == 0 && !stretches_.are_parked() && batches_.pieces() == 0;
  }
  void end_blocks();

  StageCounters& counters_;
  const RowFillSpec& spec_;
  const RowWorkers& workers_;
  InputStretches stretches_;
  BatchesInFill batches_;
  RowWriter writer_;
  std::uint64_t element_ticks_ = 0;
  std::uint64_t pieces_written_ = 0;
  std::size_t under_way_ = 0;  ///< tasks
  bool is_placing_ = false;
  std::optional<Damage> damage_;
  std::optional<ErrorPointer> ended_;  ///< the input has, with this failure or none
};

}  // namespace infeed::detail
