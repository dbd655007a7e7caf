#include "batch/fill/batches_in_fill.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace infeed::detail {

BatchesInFill::BatchesInFill(IteratorContext& run, StageCounters& counters, const RowFillSpec& spec)
    : run_(run),
      counters_(counters),
      spec_(spec),
      required_(run.memory(), spec.name),
      batch_bytes_(spec.batch_bytes_min) {
  required_.grow(batch_bytes_);
}

BatchesInFill::~BatchesInFill() {
  while (!batches_.empty()) {
    drop_rows(*batches_.back());
    batches_.pop_back();
  }
}

// ---- rows ----

bool BatchesInFill::want_rows(std::uint64_t rows_ahead_max) const {
  if (over_bytes_ != 0 && !batches_.empty()) {
    const BatchInFill& front = *batches_.front();
    if (front.is_made || front.placed == spec_.size) return false;
  }
  return rows_ < first_batch_ * spec_.size + rows_ahead_max;
}

bool BatchesInFill::place(const std::shared_ptr<InputRows>& rows, bool consumer_is_away) {
  is_short_of_memory_ = false;
  while (rows->placed < rows->size()) {
    BatchInFill& batch = batch_of_next_row();
    if (batch.filling == nullptr && !begin_filling(batch, consumer_is_away)) {
      is_short_of_memory_ = true;
      return false;
    }
    const std::size_t count = std::min(spec_.size - batch.placed, rows->size() - rows->placed);
    pieces_.push_back({&batch, rows, rows->placed, count, batch.placed, position()});
    batch.placed += count;
    rows->placed += count;
    rows_ += count;
  }
  return true;
}

void BatchesInFill::add_error(ErrorPointer error) {
  batch_of_next_row().errors.push_back(std::move(error));
  ++input_errors_;
}

BatchInFill& BatchesInFill::batch_of_next_row() {
  const std::uint64_t number = rows_ / spec_.size;
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

/// Where rows are appended, pieces of a batch are written one after the other. Where batches have
/// grown beyond what there is room for, only the next one to be handed over grows on.
bool BatchesInFill::may_be_written(const Piece& piece) const {
  const BatchInFill& batch = *piece.batch;
  if (over_bytes_ != 0 && !batch.has_places && &batch != first_unmade()) return false;
  return batch.has_places || (!batch.is_busy && piece.row == batch.done);
}

const BatchInFill* BatchesInFill::first_unmade() const {
  const auto unmade = std::find_if(batches_.begin(), batches_.end(),
                                   [](const auto& batch) { return !batch->is_made; });
  return unmade == batches_.end() ? nullptr : unmade->get();
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
  std::erase_if(pieces_,
                [&](const Piece& piece) { return first_row_of(*piece.batch) + piece.row > row; });
}

void BatchesInFill::note_written(const Piece& piece, PieceOutcome outcome) {
  BatchInFill& batch = *piece.batch;
  batch.is_busy = false;
  batch.done += piece.count;
  batch.appended += outcome.appended;
  if (spec_.filling_bytes != nullptr) hold(batch, spec_.filling_bytes(batch.filling));
  std::move(outcome.failed.begin(), outcome.failed.end(), std::back_inserter(batch.failed));
}

// ---- batches ----

void BatchesInFill::finish_if_written(Lock& lock, BatchInFill& batch, bool is_last,
                                      bool keeps_rest) {
  const bool is_full = batch.placed == spec_.size;
  if (batch.is_made || batch.done != batch.placed || !(is_full || is_last)) return;
  if (batch.filling == nullptr && batch.placed != 0) return;  // another thread finishes it
  void* const filling = std::exchange(batch.filling, nullptr);
  const bool is_wanted = is_full || keeps_rest;
  std::sort(batch.failed.begin(), batch.failed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  if (!is_wanted || batch.failed.size() == batch.placed) {
    if (filling != nullptr) spec_.drop(filling);
  } else {
    std::vector<std::size_t> gaps;
    if (spec_.rows_have_places) {
      for (const auto& [row, error] : batch.failed) gaps.push_back(row);
    }
    const std::size_t rows = spec_.rows_have_places ? batch.placed : batch.appended;
    lock.unlock();
    spec_.finish(spec_.fill.get(), filling, rows, gaps, batch.made);
    HandOff::lock_again(lock);
    note_made(batch);
  }
  if (is_wanted && !batch.failed.empty()) {
    batch.rows_error = rows_failed(batch.failed.front().second, batch.failed.size(), batch.placed);
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

bool BatchesInFill::hand_over_front(Chunk& out, std::uint64_t rows_ahead_max) {
  BatchInFill& front = *batches_.front();
  if (!front.errors.empty()) {
    out.set_error(std::move(front.errors.front()));
    front.errors.pop_front();
    return false;
  }
  if (front.rows_error != nullptr) {
    out.set_error(std::move(front.rows_error));
  } else {
    note_buffered(0 - front.made.size(), 0 - front.made.bytes());
    out.held().set(run_.memory(), out.held().bytes() + front.made.bytes());
    out.append_from(front.made, 1);
  }
  if (front.made.size() != 0) return false;
  const bool was_short = is_short_of_memory_ || over_bytes_ != 0;
  drop_rows(front);
  spare_.push_back(std::move(batches_.front()));
  batches_.pop_front();
  ++first_batch_;
  // Not for each batch: at half of what may be ahead.
  return was_short || rows_ <= first_batch_ * spec_.size + rows_ahead_max / 2;
}

void BatchesInFill::forget_rows_from(std::uint64_t row) {
  rows_ = row;
  while (!batches_.empty() && first_row_of(*batches_.back()) >= row) {
    drop_rows(*batches_.back());
    if (!batches_.back()->errors.empty()) return;
    batches_.pop_back();
  }
  if (batches_.empty() || first_row_of(*batches_.back()) + batches_.back()->placed <= row) return;
  BatchInFill& batch = *batches_.back();
  batch.placed = batch.done = static_cast<std::size_t>(row - first_row_of(batch));
  std::erase_if(batch.failed, [&](const auto& failed) { return failed.first >= batch.placed; });
  if (spec_.rows_have_places) return;
  batch.appended = batch.placed - batch.failed.size();
  spec_.truncate(batch.filling, batch.appended);
}

// ---- memory ----

/// False where there is no memory now. The required batch is made whatever others hold, but only when
/// the consumer waits for it: the one before may still be on its way, and the two would be too much.
bool BatchesInFill::begin_filling(BatchInFill& batch, bool consumer_is_away) {
  const MemoryAccount& account = run_.memory();
  const bool is_over = account.limit_bytes() != 0 && account.in_use_bytes() > account.limit_bytes();
  if (required_is_free_ && !(is_over && consumer_is_away)) {
    required_is_free_ = false;
    batch.is_required = true;
  } else if (!batch.held.try_grow_to(run_.memory(), batch_bytes_)) {
    return false;
  }
  batch.filling = spec_.begin(spec_.fill.get(), spec_.size);
  return true;
}

void BatchesInFill::note_made(BatchInFill& batch) {
  note_buffered(batch.made.size(), batch.made.bytes());
  hold(batch, batch.made.bytes());
  // Where sizes swing, the next batch may be as large as any of late.
  const std::uint64_t of_late = batch_bytes_ - batch_bytes_ / 16;
  batch_bytes_ = std::max({spec_.batch_bytes_min, std::uint64_t{batch.made.bytes()}, of_late});
}

/// The batch has become so large.
void BatchesInFill::hold(BatchInFill& batch, std::uint64_t bytes) {
  MemoryAccount& account = run_.memory();
  const std::uint64_t held = batch.is_required ? required_.bytes() : batch.held.bytes();
  if (bytes <= held) return;
  const std::uint64_t more = bytes - held;
  const bool is_too_large = bytes > account.required_limit_bytes();  // whoever else holds what
  if (batch.is_required || is_too_large) {
    required_.grow(is_too_large ? bytes : more);
  } else if (batch.held.try_grow_to(account, bytes)) {
    return;
  } else if (std::exchange(required_is_free_, false)) {
    batch.is_required = true;
    batch.held.release();
    over_bytes_ -= std::exchange(batch.over_bytes, 0);
    if (bytes > required_.bytes()) required_.grow(bytes - required_.bytes());
  } else {
    batch.held.set(account, bytes);
    batch.over_bytes += more;
    over_bytes_ += more;
  }
}

/// More of it, or less: sums are modulo 2^64.
void BatchesInFill::note_buffered(std::uint64_t batches, std::uint64_t bytes) {
  buffered_batches_ += batches;
  buffered_bytes_ += bytes;
  counters_.note_buffered(buffered_batches_, buffered_bytes_);
}

/// Its rows and their memory; the input's errors stay.
void BatchesInFill::drop_rows(BatchInFill& batch) {
  if (batch.filling != nullptr) spec_.drop(std::exchange(batch.filling, nullptr));
  note_buffered(0 - batch.made.size(), 0 - batch.made.bytes());
  batch.made.clear();
  batch.is_made = false;
  batch.rows_error = nullptr;
  batch.failed.clear();
  batch.placed = batch.done = batch.appended = 0;
  if (std::exchange(batch.is_required, false)) {
    required_is_free_ = true;
    required_.shrink(required_.bytes() - spec_.batch_bytes_min);
  }
  batch.held.release();
  over_bytes_ -= std::exchange(batch.over_bytes, 0);
}

}  // namespace infeed::detail
