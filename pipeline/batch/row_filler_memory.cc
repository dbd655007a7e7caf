#include <algorithm>
#include <utility>

#include "batch/row_filler.h"
#include "engine/iterator_context.h"

// What it holds of the memory account: for stretches of the input, and for batches.
namespace infeed::detail {

void RowFiller::note_stretch(InputRows& rows, std::uint64_t bytes) {
  stretch_bytes_ = bytes;
  if (rows.held.try_grow_to(run_.memory(), bytes)) return;
  rows.held.set(run_.memory(), bytes);
  is_short_of_stretches_ = true;
}

/// False where there is no memory now. The required batch is made whatever others hold, but only when
/// the consumer waits for it: the one before may still be on its way, and the two would be too much.
bool RowFiller::begin_filling(BatchInFill& batch) {
  const MemoryAccount& account = run_.memory();
  const bool is_over = account.limit_bytes() != 0 && account.in_use_bytes() > account.limit_bytes();
  if (required_is_free_ && (!is_over || !is_away_)) {
    required_is_free_ = false;
    batch.is_required = true;
  } else if (!batch.held.try_grow_to(run_.memory(), batch_bytes_)) {
    return false;
  }
  batch.filling = spec_.begin(spec_.fill.get(), size_);
  return true;
}

void RowFiller::note_made(BatchInFill& batch) {
  hold_batch(batch, batch.made.bytes());
  // Where sizes swing, the next batch may be as large as any of late.
  const std::uint64_t of_late = batch_bytes_ - batch_bytes_ / 16;
  batch_bytes_ = std::max({spec_.batch_bytes_min, std::uint64_t{batch.made.bytes()}, of_late});
}

void RowFiller::hold_batch(BatchInFill& batch, std::uint64_t bytes) {
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

void RowFiller::drop_rows(BatchInFill& batch) {
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
