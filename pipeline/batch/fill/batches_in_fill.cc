#include "batch/fill/batches_in_fill.h"

#include <span>
#include <utility>

#include "engine/work/error_bytes.h"

namespace infeed::detail {

BatchesInFill::BatchesInFill(IteratorContext& run, StageCounters& counters, const RowFillSpec& spec,
                             RowOrigins& origins)
    : account_(run.memory()), spec_(spec), origins_(origins), memory_(run, counters, spec) {}

BatchesInFill::~BatchesInFill() {
  while (!batches_.empty()) {
    drop_rows(*batches_.back());
    batches_.pop_back();
  }
}

// ---- rows ----

bool BatchesInFill::want_rows(std::uint64_t rows_ahead_max) const {
  const bool front_is_full = !batches_.empty() && batches_.front()->placed == spec_.size;
  if (memory_.is_over() && front_is_full) return false;
  return placed_.elements() - placed_.errors_given < first_batch_ * spec_.size + rows_ahead_max;
}

bool BatchesInFill::place(const std::shared_ptr<InputRows>& rows, bool consumer_is_away) {
  memory_.look_again();
  while (rows->placed < rows->size()) {
    BatchInFill& batch = batch_of_next_row();
    if (batch.filling == nullptr) {
      if (!memory_.try_begin(batch, consumer_is_away)) return false;
      batch.filling = spec_.begin(spec_.fill.get(), spec_.size);
      if (spec_.filling_bytes != nullptr) memory_.hold(batch, spec_.filling_bytes(batch.filling));
    }
    const std::size_t count = std::min(spec_.size - batch.placed, rows->size() - rows->placed);
    pieces_.push_back({&batch, rows, rows->placed, count, batch.placed, placed_.elements()});
    origins_.note_placed(batch, *rows, count, placed_.elements());
    batch.placed += count;
    rows->placed += count;
    placed_.rows += count;
  }
  return true;
}

void BatchesInFill::add_error(ErrorPointer error, HeldBytes& held) {
  BatchInFill::HeldError& added = batch_of_next_row().errors.emplace_back();
  added.held.take_from(held, bytes_when_kept(*error));
  added.error = std::move(error);
  ++placed_.errors;
}

BatchInFill& BatchesInFill::batch_of_next_row() {
  const std::uint64_t number = placed_.rows / spec_.size;
  if (number - first_batch_ == batches_.size()) {
    if (spare_.empty()) {
      spare_.push_back(std::make_unique<BatchInFill>(*spec_.batch_type, spec_.rows_have_places));
    }
    batches_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    batches_.back()->number = number;
  }
  return *batches_[static_cast<std::size_t>(number - first_batch_)];
}

// ---- pieces ----

/// If rows are appended, the pieces of a batch are written one after the other. If batches have
/// grown beyond the room, only the next batch to be handed over may grow.
bool BatchesInFill::may_be_written(const Piece& piece) const {
  const BatchInFill& batch = *piece.batch;
  if (batch.has_places) return true;
  if (memory_.is_over() && &batch != batches_[ready()].get()) return false;
  return !batch.is_busy && piece.row == batch.done;
}

bool BatchesInFill::can_take_piece() const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [this](const Piece& piece) { return may_be_written(piece); });
}

std::optional<Piece> BatchesInFill::take_piece(const OwnStretches* own) {
  const auto found = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    return (own == nullptr || own->has(piece.rows)) && may_be_written(piece);
  });
  if (found == pieces_.end()) return std::nullopt;
  Piece piece = std::move(*found);
  pieces_.erase(found);
  piece.batch->is_busy = true;
  return piece;
}

void BatchesInFill::drop_pieces_behind(std::uint64_t row) {
  std::erase_if(pieces_, [&](const Piece& piece) {
    return piece.batch->first_row(spec_.size) + piece.row > row;
  });
}

void BatchesInFill::note_written(const Piece& piece, PieceOutcome outcome) {
  BatchInFill& batch = *piece.batch;
  batch.is_busy = false;
  batch.done += piece.count;
  batch.appended += outcome.appended;
  if (!outcome.failed.empty()) {
    const auto place = std::ranges::lower_bound(batch.failed, outcome.failed.front());
    if (place == batch.failed.begin()) batch.first_error = std::move(outcome.first_error);
    batch.failed.insert(place, outcome.failed.begin(), outcome.failed.end());
  }
  if (spec_.filling_bytes == nullptr) return;
  if (batch.refusal == nullptr) memory_.hold(batch, spec_.filling_bytes(batch.filling));
  if (batch.refusal == nullptr) return;
  batch.appended = 0;
  spec_.truncate(batch.filling, 0);
}

// ---- batches ----

void BatchesInFill::finish_if_written(Lock& lock, BatchInFill& batch, bool is_last,
                                      bool keeps_rest) {
  const bool is_full = batch.placed == spec_.size;
  if (batch.is_made || batch.done != batch.placed || !(is_full || is_last)) return;
  if (batch.filling == nullptr && batch.placed != 0) return;  // another thread finishes it
  void* const filling = std::exchange(batch.filling, nullptr);
  const bool is_wanted = is_full || keeps_rest;
  if (!is_wanted) batch.refusal = nullptr;
  if (!is_wanted || batch.refusal != nullptr || batch.failed.size() == batch.placed) {
    if (filling != nullptr) spec_.drop(filling);
  } else {
    std::span<const std::size_t> gaps;
    if (spec_.rows_have_places) gaps = batch.failed;
    const std::size_t rows = spec_.rows_have_places ? batch.placed : batch.appended;
    lock.unlock();
    spec_.finish(spec_.fill.get(), filling, rows, gaps, batch.made);
    HandOff::lock_again(lock);
    memory_.note_made(batch);
  }
  if (is_wanted && !batch.failed.empty()) {
    batch.rows_error = rows_failed(batch.first_error, batch.failed.size(), batch.placed);
  }
  batch.is_made = true;
}

bool BatchesInFill::front_is_ready() const {
  return !batches_.empty() && (batches_.front()->is_made || front_has_error());
}

std::size_t BatchesInFill::ready() const {
  const auto unready = std::find_if(batches_.begin(), batches_.end(),
                                    [](const auto& batch) { return !batch->is_made; });
  return static_cast<std::size_t>(unready - batches_.begin());
}

bool BatchesInFill::hand_over_front(Chunk& out, std::uint64_t position,
                                    std::uint64_t rows_ahead_max) {
  BatchInFill& front = *batches_.front();
  // Somebody is woken at half of what may be ahead, not for each batch or error.
  const auto half_ahead = [&] { return first_batch_ * spec_.size + rows_ahead_max / 2; };
  if (!front.errors.empty()) {
    out.set_error(std::move(front.errors.front().error));
    front.errors.pop_front();
    ++placed_.errors_given;
    return placed_.errors == placed_.errors_given ||
           placed_.elements() - placed_.errors_given == half_ahead();
  }
  if (front.refusal != nullptr) throw Error(*front.refusal);
  if (front.rows_error != nullptr) {
    out.set_error(std::move(front.rows_error));
  } else {
    memory_.note_gone(front);
    origins_.note_given(front, position);
    out.held().set(account_, out.held().bytes() + front.made.bytes());
    out.append_from(front.made, 1);
  }
  if (front.made.size() != 0) return false;
  const bool was_short = memory_.is_short() || memory_.is_over();
  drop_rows(front);
  spare_.push_back(std::move(batches_.front()));
  batches_.pop_front();
  ++first_batch_;
  return was_short || placed_.elements() - placed_.errors_given <= half_ahead();
}

void BatchesInFill::forget_rows_from(std::uint64_t row) {
  placed_.rows = row;
  while (!batches_.empty() && batches_.back()->first_row(spec_.size) >= row) {
    drop_rows(*batches_.back());
    if (!batches_.back()->errors.empty()) return;
    batches_.pop_back();
  }
  if (batches_.empty() || batches_.back()->first_row(spec_.size) + batches_.back()->placed <= row)
    return;
  BatchInFill& batch = *batches_.back();
  batch.placed = batch.done = static_cast<std::size_t>(row - batch.first_row(spec_.size));
  std::erase_if(batch.failed, [&](std::size_t failed) { return failed >= batch.placed; });
  std::erase_if(batch.origins, [&](const auto& rows) { return rows.first >= batch.placed; });
  if (!batch.origins.empty())
    batch.origins.back().count = batch.placed - batch.origins.back().first;
  if (spec_.rows_have_places) return;
  batch.appended = batch.refusal != nullptr ? 0 : batch.placed - batch.failed.size();
  spec_.truncate(batch.filling, batch.appended);
}

/// Drops the rows and their memory. The input's errors stay.
void BatchesInFill::drop_rows(BatchInFill& batch) {
  if (batch.filling != nullptr) spec_.drop(std::exchange(batch.filling, nullptr));
  memory_.note_gone(batch);
  batch.made.clear();
  batch.is_made = false;
  batch.refusal = nullptr;
  batch.rows_error = nullptr;
  batch.failed.clear();
  batch.first_error = nullptr;
  batch.origins.clear();
  batch.placed = batch.done = batch.appended = 0;
  memory_.release(batch);
}

}  // namespace infeed::detail
