#include "batch/fill/row_work.h"

#include <algorithm>
#include <utility>

#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

// A thread pulls as many elements as take about this time to write.
constexpr double kStretchUs = 30;
// While fewer pieces a thread than that wait to be written, pulling more comes first.
constexpr std::size_t kPiecesPerThread = 4;
// The size from which sleeping and waking for each batch costs little beside filling it.
constexpr std::uint64_t kLargeBatchBytes = std::uint64_t{4} << 20;
// Pieces from one CPU clock measurement to the next.
constexpr std::uint64_t kSampledPieces = 8;

/// Returns true if no rows wait to be written, and no errors to be taken: then a stretch is read even
/// if there is no room.
bool are_written(const BatchesInFill& batches) {
  return batches.pieces() == 0 && batches.placed().errors == batches.placed().errors_given;
}

/// Returns true if a thread pulls on before it writes what was pulled: one thread at a time pulls, so
/// others write meanwhile. Behind a shuffle, images of 784 bytes become batches of 128 on two cores at
/// 8 million a second, and at 4.6 million if each thread wrote first.
bool pulls_on(const InputStretches& stretches, const BatchesInFill& batches, std::size_t threads) {
  return threads > 1 && !stretches.reads_blocks() && batches.pieces() < kPiecesPerThread * threads;
}

}  // namespace

RowWork::RowWork(IteratorContext& run, StageCounters& counters, HandOff& hand_off,
                 const RowFillSpec& spec, Stage& input, const TypeInfo& in_type, const Place& begin,
                 const RowWorkers& workers, RowOrigins& origins)
    : counters_(counters),
      spec_(spec),
      workers_(workers),
      stretches_(run, counters, hand_off, input, in_type),
      batches_(run, counters, spec, origins),
      writer_(run, counters, spec, input, begin) {}

std::uint64_t RowWork::rows_ahead_max() const {
  const std::uint64_t rounds = batches_.memory().batch_bytes() < kLargeBatchBytes ? 2 : 1;
  return rounds * (workers_.count + 1) * std::max(spec_.size, stretches_.rows_max());
}

bool RowWork::hand_over_front(Chunk& out, std::uint64_t position) {
  // The rows of a batch that is made aren't given up, also where the first to come of it is the error
  // of a row, or the refusal of its memory.
  if (!batches_.front_has_error()) stretches_.note_given(batches_.elements_given(1));
  const bool makes_room = batches_.hand_over_front(out, position, rows_ahead_max());
  if (makes_room) stretches_.look_again();
  return makes_room;
}

bool RowWork::can_read() const {
  return stretches_.can_claim(workers_.count, are_written(batches_)) &&
         batches_.want_rows(rows_ahead_max());
}

bool RowWork::can_place() const {
  return !is_placing_ && stretches_.front() != nullptr &&
         (!batches_.memory().is_short() || next_row_is_void());
}

/// Prefers rows of blocks that the thread has read itself, since they are in its cache. Takes those
/// that others have read only when nothing is left to be read.
bool RowWork::claim(Task& task, bool may_pull) {
  const bool reads_blocks = stretches_.reads_blocks();
  const bool pulls_first = may_pull && pulls_on(stretches_, batches_, workers_.count);
  if (!pulls_first && (task.piece = batches_.take_piece(reads_blocks ? &task.own : nullptr))) {
    task.kind = Task::Kind::write;
  } else if (can_place()) {
    task.kind = Task::Kind::place;
    is_placing_ = true;
  } else if ((reads_blocks || may_pull) && can_read()) {
    task.kind = Task::Kind::read;
    stretches_.begin_claim();
  } else if ((task.piece = batches_.take_piece())) {
    task.kind = Task::Kind::write;
  } else {
    return false;
  }
  ++under_way_;
  return true;
}

void RowWork::run(Lock& lock, Task& task) {
  switch (task.kind) {
    case Task::Kind::write:
      write(lock, *task.piece);
      task.piece.reset();
      break;
    case Task::Kind::place:
      place_parked(lock);
      break;
    case Task::Kind::read:
      read_stretch(lock, task.own);
      break;
  }
  --under_way_;
  if (!stretches_.has_blocks_left() && is_quiet()) end_blocks();
  if (!spec_.rows_have_places) workers_.wake_one();  // to write the batch's next piece
  workers_.tell_ready();
}

// ---- reading a stretch ----

void RowWork::read_stretch(Lock& lock, OwnStretches& own) {
  std::uint64_t pulled_max = 1;
  if (workers_.count == 0) {
    // A complete batch doesn't wait for the next one's rows.
    pulled_max = spec_.size - batches_.placed().rows % spec_.size;
  } else if (element_ticks_ != 0) {
    pulled_max = std::max<std::uint64_t>(1, ticks_of_us(kStretchUs) / element_ticks_);
  }
  const auto claimed = stretches_.claim(lock, own, pulled_max, are_written(batches_));
  if (!claimed) return;
  if (!claimed->is_read) {
    workers_.wake_one();
    stretches_.read(lock, *claimed);
  }
  if (can_place()) place_parked(lock);
  own.keep(claimed->rows);
}

// ---- giving rows their places, as far as there is memory ----

void RowWork::place_parked(Lock& lock) {
  is_placing_ = true;
  while (const std::shared_ptr<InputRows> rows = stretches_.front()) {
    if (!next_row_is_void() && !place(lock, rows)) break;
    stretches_.pop_front();
  }
  is_placing_ = false;
  // This thread writes a single piece itself.
  if (batches_.pieces() > 1 || can_read()) workers_.wake_one();
}

bool RowWork::place(Lock& lock, const std::shared_ptr<InputRows>& rows) {
  if (!rows->is_framed) {
    const auto damage = stretches_.frame(lock, *rows, batches_.placed().elements());
    if (damage) note_damage(batches_.placed().rows + rows->block.size(), *damage);
  }
  const bool is_placed = batches_.place(rows, workers_.consumer_is_away);
  // Framing unlocks. Damage found meanwhile has dropped the earlier pieces of the same batch, so
  // the new pieces could never be written.
  if (damage_) batches_.drop_pieces_behind(damage_->row);
  if (!is_placed) return false;
  if (rows->chunk && rows->chunk->has_error()) {
    batches_.add_error(rows->chunk->take_error(), rows->held);
    workers_.tell_ready();
  }
  if (!rows->is_end) return true;
  ended_ = std::move(rows->failure);
  if (!batches_.are_empty()) finish_if_written(lock, batches_.last());
  return true;
}

// ---- writing a piece, and finishing its batch ----

void RowWork::write(Lock& lock, const Piece& piece) {
  const bool is_sampled = pieces_written_++ % kSampledPieces == 0;
  lock.unlock();
  PieceOutcome outcome = writer_.write(piece, is_sampled);
  HandOff::lock_again(lock);
  stretches_.look_again();
  StageCounters::add(counters_.work_time.ticks, outcome.ticks);
  if (outcome.cpu_ns != 0) counters_.work_time.add_sample(outcome.ticks, outcome.cpu_ns);
  const std::uint64_t each = std::max<std::uint64_t>(1, outcome.ticks / piece.count);
  element_ticks_ = element_ticks_ == 0 ? each : (3 * element_ticks_ + each + 2) / 4;
  const auto damaged = outcome.damaged;
  batches_.note_written(piece, std::move(outcome));
  if (damaged) {
    const RecordBlock& block = piece.rows->block;
    note_damage(piece.batch->first_row(spec_.size) + piece.row + *damaged,
                {&block.file(), block.position(piece.first + *damaged)});
  }
  finish_if_written(lock, *piece.batch);
}

void RowWork::finish_if_written(Lock& lock, BatchInFill& batch) {
  if (damage_ && damage_->row < batch.first_row(spec_.size) + batch.placed) return;
  const bool is_last = ended_ && &batch == &batches_.last();
  const bool keeps_rest = !spec_.drop_remainder && ended_ && *ended_ == nullptr;
  batches_.finish_if_written(lock, batch, is_last, keeps_rest);
  workers_.tell_ready();
}

// ---- the end of blocks ----

void RowWork::note_damage(std::uint64_t row, const RecordBlockSource::Place& place) {
  stretches_.note_last_block();
  if (damage_ && damage_->row <= row) return;
  damage_ = Damage{row, place};
  batches_.drop_pieces_behind(row);
}

/// Ends reading blocks. No stretch may be under way.
void RowWork::end_blocks() {
  std::optional<RecordBlockSource::Place> place;
  if (damage_) {
    batches_.forget_rows_from(damage_->row);
    stretches_.forget_places_from(batches_.placed().elements());
    place = damage_->place;
    damage_.reset();
  }
  stretches_.leave_blocks(batches_.placed().elements(), place);
  batches_.memory().look_again();
  workers_.wake_one();
}

}  // namespace infeed::detail
