#include "batch/fill/fill_memory.h"

#include <algorithm>
#include <utility>

namespace infeed::detail {

FillMemory::FillMemory(IteratorContext& run, StageCounters& counters, const RowFillSpec& spec)
    : account_(run.memory()),
      counters_(counters),
      batch_bytes_min_(spec.batch_bytes_min),
      required_(run.memory(), spec.name),
      batch_bytes_(spec.batch_bytes_min) {
  required_.grow(batch_bytes_);
}

/// The required batch is begun whatever others hold. But over the limit it is begun only while the
/// consumer waits: the batch before may still be with the consumer, and both together would be too
/// much.
bool FillMemory::try_begin(BatchInFill& batch, bool consumer_is_away) {
  const bool is_over =
      account_.limit_bytes() != 0 && account_.in_use_bytes() > account_.limit_bytes();
  if (required_is_free_ && !(is_over && consumer_is_away)) {
    required_is_free_ = false;
    return batch.is_required = true;
  }
  const bool has_room = batch.held.try_grow_to(account_, batch_bytes_);
  is_short_ = !has_room;
  return has_room;
}

void FillMemory::hold(BatchInFill& batch, std::uint64_t bytes) {
  const std::uint64_t held = batch.is_required ? required_.bytes() : batch.held.bytes();
  if (bytes <= held) return;
  const std::uint64_t more = bytes - held;
  const bool is_too_large = bytes > account_.required_limit_bytes();  // the account never has that
  if (batch.is_required || is_too_large) {
    required_.grow(is_too_large ? bytes : more);
  } else if (batch.held.try_grow_to(account_, bytes)) {
    return;
  } else if (std::exchange(required_is_free_, false)) {
    batch.is_required = true;
    batch.held.release();
    over_bytes_ -= std::exchange(batch.over_bytes, 0);
    if (bytes > required_.bytes()) required_.grow(bytes - required_.bytes());
  } else {
    batch.held.set(account_, bytes);
    batch.over_bytes += more;
    over_bytes_ += more;
  }
}

void FillMemory::note_made(BatchInFill& batch) {
  note_buffered(batch.made.size(), batch.made.bytes());
  hold(batch, batch.made.bytes());
  // If sizes vary, the next batch may be as large as any recent one.
  const std::uint64_t of_late = batch_bytes_ - batch_bytes_ / 16;
  batch_bytes_ = std::max({batch_bytes_min_, std::uint64_t{batch.made.bytes()}, of_late});
}

void FillMemory::release(BatchInFill& batch) {
  if (std::exchange(batch.is_required, false)) {
    required_is_free_ = true;
    required_.shrink(required_.bytes() - batch_bytes_min_);
  }
  batch.held.release();
  over_bytes_ -= std::exchange(batch.over_bytes, 0);
}

/// Adds to the sums, modulo 2^64, so that they can also shrink.
void FillMemory::note_buffered(std::uint64_t batches, std::uint64_t bytes) {
  buffered_batches_ += batches;
  buffered_bytes_ += bytes;
  counters_.buffered.set(buffered_batches_, buffered_bytes_);
}

}  // namespace infeed::detail
