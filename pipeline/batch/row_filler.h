#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/detail/record_block_source.h>
#include <infeed/pipeline/detail/row_filling.h>
#include <infeed/pipeline/reservation.h>
#include <infeed/pipeline/stage.h>

#include "batch/input_rows.h"
#include "engine/recording/place_log.h"
#include "engine/stage_counters.h"
#include "engine/threads/sleepers.h"
#include "engine/threads/thread_budget.h"
#include "engine/tuning/knobs.h"

namespace infeed::detail {

/// A batch in the making, or one that is made and waits to be taken.
struct BatchInFill {
  /// Neighbouring rows of a stretch that belong into this batch.
  struct Piece {
    std::shared_ptr<InputRows> rows;
    std::size_t first;  ///< of `rows`
    std::size_t count;
    std::size_t row;         ///< of the batch
    std::uint64_t position;  ///< of the first in the input, where errors have positions, too
  };

  BatchInFill(const TypeInfo& type, bool its_rows_have_places)
      : has_places(its_rows_have_places), made(type, 1) {}

  const bool has_places;  ///< RowFillSpec::rows_have_places
  std::uint64_t number = 0;
  void* filling = nullptr;  ///< null before the first row, and when it is made
  std::size_t placed = 0;   ///< rows that have elements
  std::size_t done = 0;     ///< of them written, or failed
  std::vector<std::pair<std::size_t, ErrorPointer>> failed;  ///< rows
  std::size_t appended = 0;  ///< where rows are appended: those that went well
  bool is_busy = false;      ///< a piece is being written

  std::deque<ErrorPointer> errors;  ///< of the input; to be handed over before it
  ErrorPointer rows_error;          ///< of its own rows; behind them
  Chunk made;
  bool is_made = false;
  bool is_required = false;  ///< it has the memory that the stage can't do without
  HeldBytes held;
  std::uint64_t over_bytes = 0;  ///< of those held: for which there was no room
};

/// Why: cuts the input into batches and fills their rows, on threads of its own or in the thread
/// that takes the batches. One thread after the other claims a stretch of the input, reads it, and
/// then verifies and parses it while it is in its core's cache: 784-byte images come at 12 million a
/// second on two cores by hand, and came at 3.4 when one thread read and verified and others parsed.
///
/// A stretch that was read waits until those claimed before it have places for their rows. Nobody
/// waits with it: whoever comes next gives rows their places and queues the work, so that a thread
/// that lost its core holds up nobody.
///
/// A consumer that finds nothing ready takes part in place of one thread: on two cores 128 rows of
/// 784 bytes come at 8.9 million a second so, and at 6.9 when threads and consumer take turns.
///
/// Order: rows and errors are those of the serial form, whatever the threads do. Where a record of
/// a block turns out to be damaged, what came behind it is forgotten and pulled from the input,
/// which knows what to do about damage.
///
/// Invariants: all state is guarded by hand_off_, but for the input and source_, which belong to
/// the thread that has set is_claiming_; parked_.front(), which belongs to the one that has set
/// is_placing_; and a filling's rows, which belong to those who write them. A row has a place before
/// any behind it has. Who finds no memory for a batch goes away, and a batch that is taken brings
/// somebody back, so that the batches before it will be made. Memory for which there is no room is
/// taken by the first unmade batch alone, and for one stretch when nothing else is under way.
class RowFiller {
 public:
  /// All of them outlive it.
  RowFiller(IteratorContext& run, StageCounters& counters, const RowFillSpec& spec, Stage& input,
            const TypeInfo& in_type, const Place& begin);
  ~RowFiller();
  RowFiller(const RowFiller&) = delete;
  RowFiller& operator=(const RowFiller&) = delete;

  /// As Stage::do_pull.
  Pull take(Chunk& out, std::size_t want);
  bool has_begun() const { return has_begun_; }
  bool has_threads() const { return share_.count() != 0; }
  void stop() { hand_off_.stop(); }
  /// Of a row; from any thread.
  TracedPlace trace(std::uint64_t row) const;
  /// Before it has begun: rows of the input that nobody will ask for.
  void note_skipped(std::uint64_t rows) { begin_.position += rows; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Piece = BatchInFill::Piece;

  struct Todo {
    BatchInFill* batch;
    Piece piece;
  };
  /// The blocks end at this row.
  struct Damage {
    std::uint64_t row;
    RecordBlockSource::Place place;
  };
  /// How the rows of a piece went.
  struct Outcome {
    std::vector<std::pair<std::size_t, ErrorPointer>> failed;
    std::size_t appended = 0;
    std::optional<std::size_t> damaged;  ///< of the piece: it and those behind it weren't written
    std::uint64_t ticks = 0;
    std::uint64_t cpu_ns = 0;  ///< where they were measured
  };

  class RowWatch;

  void begin();
  void add_threads(std::size_t threads_min);
  /// So many threads from now on; 0: the consumer does it all. Of the tuner.
  void set_workers(std::size_t workers);
  void work();
  bool has_work() const;
  bool can_write() const;
  /// Whether one more thread may work, when so many are to come beside those that do.
  bool has_turn(std::size_t on_their_way = 0) const;
  /// As WaitPoint::wait.
  bool wait_for_work(Lock& lock, OwnStretches& own);
  /// A little of what there is to do: `own` is what the thread has read before.
  void do_some(Lock& lock, OwnStretches& own);

  /// Whether the input comes in blocks, which threads read side by side.
  void note_blocks(bool reads_blocks) {
    reads_blocks_ = reads_blocks;
    knob_.note_shape(reads_blocks ? KnobShape::segments : KnobShape::readers);
  }
  bool can_claim() const;
  /// The batch that is to be handed over next has not got all of its rows.
  bool front_needs_rows() const;
  std::uint64_t rows_ahead_max() const;
  void claim(Lock& lock, OwnStretches& own);
  /// It has so much memory.
  void note_stretch(InputRows& rows, std::uint64_t bytes);
  void read_block(InputRows& rows, std::uint64_t claim_ticks, bool is_sampled) const;
  void note_read(std::uint64_t ticks);
  void pull_rows(InputRows& rows, std::size_t want);
  std::size_t elements_per_pull() const;

  bool can_place() const;
  /// Gives the rows of parked stretches their places, as far as there is memory.
  void place_parked(Lock& lock);
  void frame(Lock& lock, InputRows& rows);
  bool place(const std::shared_ptr<InputRows>& rows);
  BatchInFill& batch_of_next_row();
  bool begin_filling(BatchInFill& batch);

  bool can_start(const Todo& todo) const;
  const BatchInFill* first_unmade() const;
  void write(Lock& lock, std::deque<Todo>::iterator place);
  Outcome write_rows(const BatchInFill& batch, const Piece& piece, bool is_sampled) const;
  void account(BatchInFill& batch, const Piece& piece, Outcome outcome);
  void finish_if_complete(Lock& lock, BatchInFill& batch);
  void note_made(BatchInFill& batch);
  /// The batch has become so large.
  void hold_batch(BatchInFill& batch, std::uint64_t bytes);
  void note_buffered(std::uint64_t batches, std::uint64_t bytes);

  // The end of blocks, and of all.
  void note_damage(std::uint64_t row, const RecordBlockSource::Place& place);
  void drop_pieces_behind(std::uint64_t row);
  /// What has no place yet lies behind damage.
  bool next_row_is_void() const { return damage_ && damage_->row <= rows_; }
  bool is_quiet() const { return busy_ == 0 && parked_.empty() && pieces_.empty(); }
  void end_blocks();
  void forget_rows_from(std::uint64_t row);
  void end_input(Lock& lock, ErrorPointer failure);

  bool is_over() const { return has_ended_ && is_quiet() && batches_.empty(); }
  bool front_is_ready() const;
  std::size_t ready_batches() const;
  void tell_ready();
  void wake_worker();
  void wake_workers();
  /// Whether the consumer has something to do that doesn't keep it from a batch for long.
  bool can_take_part() const;
  void take_part(Lock& lock);
  void leave();
  void note_absence();
  /// A batch takes less time than to sleep and wake costs.
  bool come_quickly() const;
  /// The consumer, for a batch or for something to do.
  bool is_worth_waking() const;
  /// False when nothing came of it for as long as it may take.
  bool poll_until_ready(Lock& lock);
  void wait_until_ready(Lock& lock);
  void hand_over_front(Chunk& out);
  /// Its rows and their memory; the input's errors stay.
  void drop_rows(BatchInFill& batch);
  std::uint64_t first_row_of(const BatchInFill& batch) const { return batch.number * size_; }

  IteratorContext& run_;
  StageCounters& counters_;
  const RowFillSpec& spec_;
  Stage& input_;
  const TypeInfo& in_type_;
  Place begin_;  ///< of row 0
  const std::size_t size_;
  ThreadShare share_;
  const bool others_have_cores_;  ///< while the consumer keeps one
  bool has_begun_ = false;
  std::size_t workers_ = 0;  ///< of threads_, those that may work

  HandOff hand_off_;
  Sleepers work_{hand_off_};    ///< until there is something to do, or all is over
  Sleepers turn_{hand_off_};    ///< until one more may work
  WaitPoint ready_{hand_off_};  ///< for the consumer
  std::size_t wake_at_ = 0;     ///< so many batches are worth waking the consumer; 0: it is awake
  std::size_t busy_ = 0;        ///< threads that do something without the lock
  std::size_t at_work_ = 0;     ///< of threads_

  bool takes_part_ = false;            ///< the consumer; one of threads_ rests meanwhile
  bool is_away_ = false;               ///< the consumer, with what it has taken
  std::uint64_t left_ticks_ = 0;       ///< since then
  bool reads_blocks_ = false;          ///< source_ was there for the last claim
  std::uint64_t slow_read_ticks_ = 0;  ///< what a block takes to be read: the most of late

  Reservation required_;
  bool required_is_free_ = true;
  std::uint64_t batch_bytes_;           ///< of the next one, about
  std::uint64_t buffered_batches_ = 0;  ///< that are made
  std::uint64_t buffered_bytes_ = 0;
  std::uint64_t over_bytes_ = 0;  ///< that batches have grown to without finding room for them

  std::deque<std::unique_ptr<BatchInFill>> batches_;
  std::vector<std::unique_ptr<BatchInFill>> spare_;  ///< were taken; to make one costs 0.7 us
  std::uint64_t first_batch_ = 0;                    ///< the number of batches_.front()
  std::uint64_t rows_ = 0;                           ///< that have places
  std::uint64_t input_errors_ = 0;                   ///< before the next row
  OwnStretches own_;                                 ///< of the consumer
  std::size_t stretch_rows_ = 1;                     ///< the most that came at once
  std::uint64_t element_ticks_ = 0;                  ///< what one takes to be written
  std::uint64_t stretches_ = 0;
  std::uint64_t stretch_bytes_ = 0;  ///< memory of one that was read
  /// There was no room for another one; and while some wait to be written, nobody asks again.
  bool is_short_of_stretches_ = false;

  RecordBlockSource* source_ = nullptr;
  PlaceLog places_;  ///< of rows that came in blocks, in an iterator that records
  bool is_claiming_ = false;
  bool has_input_left_ = true;                     ///< nobody has seen its end
  bool has_blocks_left_ = true;                    ///< of source_
  std::deque<std::shared_ptr<InputRows>> parked_;  ///< claimed in this order; null until it is read
  std::uint64_t first_parked_ = 0;                 ///< how many were claimed before them
  bool is_placing_ = false;
  bool is_short_of_memory_ = false;
  std::deque<Todo> pieces_;  ///< to be written
  std::optional<Damage> damage_;
  bool has_ended_ = false;
  ErrorPointer failure_;

  std::vector<std::thread> threads_;
  Knob knob_;
};

}  // namespace infeed::detail
