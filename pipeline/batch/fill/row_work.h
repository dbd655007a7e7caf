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

/// The threads that do the work, as RowWork knows them.
struct RowWorkers {
  std::size_t count = 0;  ///< wanted threads; 0: the consumer does everything
  bool consumer_is_away = false;
  std::function<void()> wake_one = nullptr;    ///< there may be more to do
  std::function<void()> tell_ready = nullptr;  ///< a batch, an error or the end may be ready
};

/// The work that fills batches: reading stretches, giving their rows places, writing pieces,
/// finishing batches. A free thread claims a Task and runs it. The results are in batches().
///
/// Order: rows and errors are those of the serial form, for any number of threads. If a record of a
/// block is damaged, everything after it is forgotten and pulled from the input, which handles
/// damage.
///
/// Invariants: everything is called with the lock of the hand-off held, which guards all state
/// except what a Task has claimed: the next stretch, the placing of the stretches in front, or a
/// piece's rows.
class RowWork {
 public:
  using Lock = std::unique_lock<std::mutex>;

  struct Task {
    enum class Kind { write, place, read } kind = Kind::write;
    std::optional<Piece> piece = std::nullopt;  ///< to be written
    OwnStretches own = {};                      ///< stretches that the thread has read
  };

  RowWork(IteratorContext& run, StageCounters& counters, HandOff& hand_off, const RowFillSpec& spec,
          Stage& input, const TypeInfo& in_type, const Place& begin, const RowWorkers& workers,
          RowOrigins& origins);

  /// Claims the most urgent work for the task's thread. Returns false if there is none. The consumer
  /// may not pull while there are workers: a pull may wait for ever.
  bool claim(Task& task, bool may_pull = true);
  void run(Lock& lock, Task& task);
  bool can_claim() const { return can_place() || can_read() || batches_.can_take_piece(); }
  bool can_read() const;
  bool can_place() const;

  BatchesInFill& batches() { return batches_; }
  const InputStretches& stretches() const { return stretches_; }
  /// Says that there may be more room in the memory account.
  void look_again() {
    batches_.memory().look_again();
    stretches_.look_again();
  }
  /// Returns how many rows may have places without being taken: so many that neither the threads
  /// nor the consumer sleep and wake for every batch.
  std::uint64_t rows_ahead_max() const;
  /// Hands over one batch or error, as BatchesInFill does, and counts the records that it had.
  bool hand_over_front(Chunk& out, std::uint64_t position);
  std::uint64_t element_ticks() const { return element_ticks_; }  ///< to write one element
  /// Returns true if there will never be more to do.
  bool is_done() const { return ended_ && is_quiet(); }
  bool is_over() const { return is_done() && batches_.are_empty(); }
  const ErrorPointer& failure() const { return *ended_; }
  /// Skips rows of the input. Only before the first task.
  void note_skipped(std::uint64_t rows) {
    writer_.note_skipped(rows);
    stretches_.note_skipped(rows);
  }

 private:
  /// The row where usable blocks end.
  struct Damage {
    std::uint64_t row;
    RecordBlockSource::Place place;
  };

  void read_stretch(Lock& lock, OwnStretches& own);
  void place_parked(Lock& lock);
  bool place(Lock& lock, const std::shared_ptr<InputRows>& rows);
  void write(Lock& lock, const Piece& piece);
  void finish_if_written(Lock& lock, BatchInFill& batch);
  void note_damage(std::uint64_t row, const RecordBlockSource::Place& place);
  /// Returns true if the next rows without a place come after damage.
  bool next_row_is_void() const { return damage_ && damage_->row <= batches_.placed().rows; }
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
  std::size_t under_way_ = 0;  ///< number of running tasks
  bool is_placing_ = false;
  std::optional<Damage> damage_;
  std::optional<ErrorPointer> ended_;  ///< set when the input has ended, with its failure or null
};

}  // namespace infeed::detail
