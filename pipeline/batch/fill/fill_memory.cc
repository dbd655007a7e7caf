#include "batch/fill/fill_memory.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <infeed/error.h>

namespace infeed::detail {

FillMemory::FillMemory(IteratorContext& run, StageCounters& counters, const RowFillSpec& spec)
    : account_(run.memory()),
      counters_(counters),
      batch_bytes_min_(spec.batch_bytes_min),
      knows_spare_bytes_(spec.filling_bytes != nullptr),
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

void FillMemory::hold(BatchInFill& batch, const FillingBytes& bytes) {
  batch.used_bytes = bytes.all - bytes.spare;
  try {
    reserve(batch, bytes);
  } catch (const Error& refusal) {
    batch.refusal = std::make_shared<const Error>(refusal);
  }
}

/// Spare bytes count as best effort, whether there is room or not.
void FillMemory::reserve(BatchInFill& batch, const FillingBytes& bytes) {
  const std::uint64_t held = batch.held.bytes();
  // Beyond the required memory, which the batch has now or when it is its turn.
  const std::uint64_t more_bytes = batch.used_bytes - std::min(batch.used_bytes, required_.bytes());
  if (!batch.is_required) {
    if (batch.used_bytes > account_.required_limit_bytes()) {
      // Throws, since the account never has that. But its limit may just have been raised.
      required_.grow(more_bytes);
      required_.shrink(more_bytes);
    }
    if (batch.held.try_grow_to(account_, bytes.all)) return;
    if (!std::exchange(required_is_free_, false)) {
      batch.held.set(account_, bytes.all);
      batch.over_bytes += bytes.all - held;
      over_bytes_ += bytes.all - held;
      return;
    }
    batch.is_required = true;
    batch.held.release();
    over_bytes_ -= std::exchange(batch.over_bytes, 0);
  }
  required_.grow(more_bytes);
  batch.held.set(account_, bytes.all - std::min(bytes.all, required_.bytes()));
}

void FillMemory::note_made(BatchInFill& batch) {
  const std::uint64_t bytes = batch.made.bytes();
  note_buffered(batch.made.size(), bytes);
  // Whatever the batch needs was in the filling's bytes, if those are known.
  const std::uint64_t used = knows_spare_bytes_ ? std::min(bytes, batch.used_bytes) : bytes;
  hold(batch, {.all = bytes, .spare = bytes - used});
  // If sizes vary, the next batch may be as large as any recent one.
  const std::uint64_t of_late = batch_bytes_ - batch_bytes_ / 16;
  batch_bytes_ = std::max({batch_bytes_min_, bytes, of_late});
}

void FillMemory::release(BatchInFill& batch) {
  if (std::exchange(batch.is_required, false)) {
    required_is_free_ = true;
    required_.shrink(required_.bytes() - batch_bytes_min_);
  }
  batch.held.release();
  batch.used_bytes = 0;
  over_bytes_ -= std::exchange(batch.over_bytes, 0);
}

/// Adds to the sums, modulo 2^64, so that they can also shrink.
void FillMemory::note_buffered(std::uint64_t batches, std::uint64_t bytes) {
  buffered_batches_ += batches;
  buffered_bytes_ += bytes;
  counters_.buffered.set(buffered_batches_, buffered_bytes_);
}

}  // namespace infeed::detail
