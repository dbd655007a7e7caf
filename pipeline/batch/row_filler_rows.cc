#include <algorithm>
#include <iterator>
#include <new>

#include <infeed/detail/late_copy.h>
#include <infeed/pipeline/errors_in_flight.h>

#include "batch/row_filler.h"
#include "batch/row_watch.h"
#include "engine/iterator_context.h"
#include "engine/statistics/pull_sample.h"
#include "engine/threads/clock.h"

// From the input to rows that are written.
namespace infeed::detail {
namespace {

// What a thread takes of pulled elements is worth about as much time.
constexpr double kStretchUs = 100;
// To sleep and wake for each of these costs little beside filling them.
constexpr std::uint64_t kLargeBatchBytes = std::uint64_t{4} << 20;
// What others may have read while a thread has lost its core.
constexpr std::size_t kParkedPerThread = 4;
// Stretches between two that are measured with the CPU clock.
constexpr std::uint64_t kSampleEvery = 8;

/// A Record that is never destroyed, since it counts no reference.
union BorrowedRecord {
  BorrowedRecord() {}
  ~BorrowedRecord() {}
  Record record;
};

/// Writes records of a block to rows. One with a large value is parsed before it is verified, so that
/// this value goes to its place while the checksum is computed; of others the parser finds the bytes
/// in the nearest cache when the checksum comes first.
class RecordWriter {
 public:
  RecordWriter(const RowFillSpec& spec, const RecordBlock& block)
      : spec_(spec), block_(block), parses_first_(spec.write_unverified != nullptr) {}

  /// False where record `at` is damaged, and was not written.
  bool write(std::size_t at, void* filling, std::size_t row, const Place& place, std::size_t i,
             ErrorPointer& error) {
    BorrowedRecord borrowed;
    ::new (static_cast<void*>(&borrowed.record)) Record(block_.borrowed(at));
    const void* const fill = spec_.fill.get();
    if (!parses_first_) {
      if (!block_.is_valid(at)) return false;
      error = spec_.write(fill, &borrowed.record, filling, row, place, i);
      return true;
    }
    LateCopy late;
    error = spec_.write_unverified(fill, borrowed.record, filling, row, late);
    if (error != nullptr) late.forget();
    parses_first_ = late.bytes() != 0;
    if (block_.is_valid(at, late)) return true;
    // Rows behind it may be appended before all of them are forgotten.
    if (error == nullptr && !spec_.rows_have_places) spec_.truncate(filling, row);
    return false;
  }

 private:
  const RowFillSpec& spec_;
  const RecordBlock& block_;
  bool parses_first_;
};

}  // namespace

// ---- claiming a stretch of the input, and reading it ----

/// How many rows may have places that nobody has taken: so many that neither the threads nor the
/// consumer sleep and wake for every batch.
std::uint64_t RowFiller::rows_ahead_max() const {
  const std::uint64_t rounds = batch_bytes_ < kLargeBatchBytes ? 2 : 1;
  return rounds * (workers_ + 1) * std::max(size_, stretch_rows_);
}

bool RowFiller::can_claim() const {
  if (is_claiming_ || !has_input_left_ || !has_blocks_left_) return false;
  if (parked_.size() > kParkedPerThread * workers_) return false;
  if (over_bytes_ != 0 && !batches_.empty() && !front_needs_rows()) return false;
  if (is_short_of_stretches_ && !(parked_.empty() && pieces_.empty())) return false;
  return rows_ < first_batch_ * size_ + rows_ahead_max();
}

bool RowFiller::front_needs_rows() const {
  return !batches_.front()->is_made && batches_.front()->placed < size_;
}

void RowFiller::claim(Lock& lock, OwnStretches& own) {
  is_claiming_ = true;
  std::shared_ptr<InputRows> rows = own.take_free();
  if (rows == nullptr || rows->chunk) rows = std::make_shared<InputRows>();
  if (is_short_of_stretches_) own.drop_free();
  rows->placed = 0;
  rows->is_framed = false;
  // One at a time is read whatever there is room for.
  is_short_of_stretches_ = !rows->held.try_grow_to(run_.memory(), stretch_bytes_);
  if (is_short_of_stretches_ && !(parked_.empty() && pieces_.empty())) {
    is_claiming_ = false;
    return;
  }
  const std::size_t want = elements_per_pull();
  lock.unlock();
  if (source_ == nullptr) source_ = input_.record_blocks();
  if (source_ != nullptr) {
    const std::uint64_t begin_ticks = ticks_now();
    const bool is_claimed = source_->claim(rows->block);
    const std::uint64_t claim_ticks = ticks_now() - begin_ticks;
    HandOff::lock_again(lock);
    is_claiming_ = false;
    note_blocks(is_claimed);
    if (!is_claimed) {
      has_blocks_left_ = false;
      return;
    }
    const std::uint64_t ticket = first_parked_ + parked_.size();
    parked_.emplace_back();
    wake_worker();
    lock.unlock();
    read_block(*rows, claim_ticks, ticket % kSampleEvery == 0);
    HandOff::lock_again(lock);
    note_read(rows->taken.ticks);
    note_stretch(*rows, rows->block.memory_bytes());
    parked_[static_cast<std::size_t>(ticket - first_parked_)] = rows;
  } else {
    pull_rows(*rows, want);
    HandOff::lock_again(lock);
    note_stretch(*rows, rows->chunk->bytes());
    is_claiming_ = false;
    if (hand_off_.stopped()) return;
    has_input_left_ = !rows->is_end;
    parked_.push_back(rows);
  }
  if (can_place()) place_parked(lock);
  own.keep(std::move(rows));
}

void RowFiller::read_block(InputRows& rows, std::uint64_t claim_ticks, bool is_sampled) const {
  RecordBlockSource::Taken& taken = rows.taken = {};
  const std::uint64_t begin_cpu_ns = is_sampled ? thread_cpu_ns() : 0;
  const std::uint64_t begin_ticks = ticks_now();
  CallWatch watch(run_.recorder(), counters_, begin_ticks);
  rows.block.file().read(rows.block);
  const std::uint64_t end_ticks = ticks_now();
  const std::uint64_t read_ticks = end_ticks - begin_ticks;
  rows.slow_read = {};
  if (watch.is_on()) {
    const OwnTime time = watch.end(end_ticks);
    if (run_.recorder()->is_slow(time)) rows.slow_read = {time.begin_ticks, time.ticks};
  }
  taken.ticks = claim_ticks + read_ticks;
  if (!is_sampled) return;
  taken.sampled_ticks = read_ticks;
  taken.sampled_cpu_ns = thread_cpu_ns() - begin_cpu_ns;
}

/// A slow one is remembered for a while.
void RowFiller::note_read(std::uint64_t ticks) {
  slow_read_ticks_ = std::max(ticks, slow_read_ticks_ - slow_read_ticks_ / 16);
}

void RowFiller::pull_rows(InputRows& rows, std::size_t want) {
  Chunk& chunk = rows.chunk.emplace(in_type_);
  rows.is_framed = true;
  Pull pulled = Pull::end;
  try {
    pulled = input_.pull(chunk, std::min(want, chunk.capacity()));
  } catch (...) {
    rows.failure = terminal_error();
  }
  rows.is_end = pulled == Pull::end;
  if (pulled == Pull::cancelled) hand_off_.stop();
}

std::size_t RowFiller::elements_per_pull() const {
  // A batch that is complete doesn't wait for the next one's rows.
  if (workers_ == 0) return size_ - rows_ % size_;
  if (element_ticks_ == 0) return 1;
  return static_cast<std::size_t>(
      std::max<std::uint64_t>(1, ticks_of_us(kStretchUs) / element_ticks_));
}

// ---- giving rows their places ----

bool RowFiller::can_place() const {
  return !is_placing_ && !parked_.empty() && parked_.front() != nullptr &&
         (!is_short_of_memory_ || next_row_is_void());
}

void RowFiller::place_parked(Lock& lock) {
  is_placing_ = true;
  while (!parked_.empty() && parked_.front() != nullptr) {
    const std::shared_ptr<InputRows> rows = parked_.front();
    if (!next_row_is_void()) {
      if (!rows->is_framed) frame(lock, *rows);
      const bool is_placed = place(rows);
      // Framing unlocks: damage that was found meanwhile has dropped the pieces that come before these in
      // their batch, so that none of them could ever be written.
      if (damage_) drop_pieces_behind(damage_->row);
      if (!is_placed) break;
      if (rows->is_end) end_input(lock, std::move(rows->failure));
    }
    parked_.pop_front();
    ++first_parked_;
  }
  is_placing_ = false;
  if (pieces_.size() > 1 || can_claim()) wake_worker();
}

/// Finds the records of a block, and the end of the last one.
void RowFiller::frame(Lock& lock, InputRows& rows) {
  RecordBlock& block = rows.block;
  BlockFile& file = block.file();
  lock.unlock();
  const bool is_good = file.frame(block);
  rows.whole = block.size();
  if (!file.complete(block)) --rows.whole;
  rows.taken.records = block.size();
  for (std::size_t i = 0; i < block.size(); ++i) rows.taken.bytes += block.bytes(i).size();
  HandOff::lock_again(lock);
  rows.is_framed = true;
  note_stretch(rows, block.memory_bytes());
  source_->note(rows.taken);
  if (rows.slow_read.ticks != 0) source_->note_slow_read(block, rows.slow_read);
  if (run_.recorder() != nullptr && block.size() != 0) {
    const RecordPosition first = block.position(0);
    places_.add(begin_.position + rows_, block.size(), file.file_name(), first.record,
                first.offset);
  }
  stretch_rows_ = std::max(stretch_rows_, block.size());
  if (!is_good) note_damage(rows_ + block.size(), {&file, file.next()});
}

/// False where there was no memory for all of them.
bool RowFiller::place(const std::shared_ptr<InputRows>& rows) {
  is_short_of_memory_ = false;
  while (rows->placed < rows->size()) {
    BatchInFill& batch = batch_of_next_row();
    if (batch.filling == nullptr && !begin_filling(batch)) {
      is_short_of_memory_ = true;
      return false;
    }
    const std::size_t count = std::min(size_ - batch.placed, rows->size() - rows->placed);
    pieces_.push_back({&batch, {rows, rows->placed, count, batch.placed, rows_ + input_errors_}});
    batch.placed += count;
    rows->placed += count;
    rows_ += count;
  }
  if (rows->chunk && rows->chunk->has_error()) {
    batch_of_next_row().errors.push_back(rows->chunk->take_error());
    ++input_errors_;
    tell_ready();
  }
  return true;
}

BatchInFill& RowFiller::batch_of_next_row() {
  const std::uint64_t number = rows_ / size_;
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

/// Where rows are appended, pieces of a batch are written one after the other. Where batches have
/// grown beyond what there is room for, only the next one to be handed over grows on.
bool RowFiller::can_start(const Todo& todo) const {
  const BatchInFill& batch = *todo.batch;
  if (over_bytes_ != 0 && !batch.has_places && &batch != first_unmade()) return false;
  return batch.has_places || (!batch.is_busy && todo.piece.row == batch.done);
}

const BatchInFill* RowFiller::first_unmade() const {
  const auto unmade = std::find_if(batches_.begin(), batches_.end(),
                                   [](const auto& batch) { return !batch->is_made; });
  return unmade == batches_.end() ? nullptr : unmade->get();
}

void RowFiller::write(Lock& lock, std::deque<Todo>::iterator place) {
  const Todo todo = std::move(*place);
  pieces_.erase(place);
  BatchInFill& batch = *todo.batch;
  batch.is_busy = true;
  const bool is_sampled = stretches_++ % kSampleEvery == 0;
  lock.unlock();
  Outcome outcome = write_rows(batch, todo.piece, is_sampled);
  HandOff::lock_again(lock);
  batch.is_busy = false;
  is_short_of_stretches_ = false;
  account(batch, todo.piece, std::move(outcome));
  finish_if_complete(lock, batch);
}

RowFiller::Outcome RowFiller::write_rows(const BatchInFill& batch, const Piece& piece,
                                         bool is_sampled) const {
  Outcome outcome;
  const std::uint64_t begin_cpu_ns = is_sampled ? thread_cpu_ns() : 0;
  const std::uint64_t begin_ticks = ticks_now();
  const auto note = [&](std::size_t i, ErrorPointer error) {
    if (error == nullptr) {
      ++outcome.appended;
    } else {
      outcome.failed.emplace_back(piece.row + i, std::move(error));
    }
  };
  const auto row_of = [&](std::size_t i) {
    return spec_.rows_have_places ? piece.row + i : batch.appended + outcome.appended;
  };
  const void* const fill = spec_.fill.get();
  Place place = begin_;
  place.position += piece.position;
  RowWatch watch(*this, piece);
  if (Chunk* const chunk = piece.rows->chunk ? &*piece.rows->chunk : nullptr) {
    for (std::size_t i = 0; i < piece.count; ++i) {
      watch.begin(i);
      note(i, spec_.write(fill, chunk->value(piece.first + i), batch.filling, row_of(i), place, i));
    }
  } else {
    const RecordBlock& block = piece.rows->block;
    RecordWriter writer(spec_, block);
    for (std::size_t i = 0; i < piece.count; ++i) {
      const std::size_t at = piece.first + i;
      watch.begin(i);
      ErrorPointer error;
      if (at >= piece.rows->whole || !writer.write(at, batch.filling, row_of(i), place, i, error)) {
        outcome.damaged = i;
        break;
      }
      note(i, std::move(error));
    }
  }
  watch.end(piece.count);
  outcome.ticks = ticks_now() - begin_ticks;
  if (is_sampled) outcome.cpu_ns = thread_cpu_ns() - begin_cpu_ns;
  return outcome;
}

void RowFiller::account(BatchInFill& batch, const Piece& piece, Outcome outcome) {
  StageCounters::add(counters_.work_ticks, outcome.ticks);
  if (outcome.cpu_ns != 0) {
    StageCounters::add(counters_.sampled_work_ticks, outcome.ticks);
    StageCounters::add(counters_.sampled_work_cpu_ns, outcome.cpu_ns);
  }
  const std::uint64_t each = std::max<std::uint64_t>(1, outcome.ticks / piece.count);
  element_ticks_ = element_ticks_ == 0 ? each : (3 * element_ticks_ + each + 2) / 4;
  batch.done += piece.count;
  batch.appended += outcome.appended;
  if (spec_.filling_bytes != nullptr) hold_batch(batch, spec_.filling_bytes(batch.filling));
  std::move(outcome.failed.begin(), outcome.failed.end(), std::back_inserter(batch.failed));
  if (!outcome.damaged) return;
  const RecordBlock& block = piece.rows->block;
  note_damage(first_row_of(batch) + piece.row + *outcome.damaged,
              {&block.file(), block.position(piece.first + *outcome.damaged)});
}

void RowFiller::finish_if_complete(Lock& lock, BatchInFill& batch) {
  const bool is_full = batch.placed == size_;
  const bool is_last = has_ended_ && &batch == batches_.back().get();
  if (batch.is_made || batch.done != batch.placed || !(is_full || is_last)) return;
  if (damage_ && damage_->row < first_row_of(batch) + batch.placed) return;
  if (batch.filling == nullptr && batch.placed != 0) return;  // another thread finishes it
  void* const filling = std::exchange(batch.filling, nullptr);
  const bool is_wanted = is_full || (!spec_.drop_remainder && failure_ == nullptr);
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
    note_buffered(batch.made.size(), batch.made.bytes());
    note_made(batch);
  }
  if (is_wanted && !batch.failed.empty()) {
    batch.rows_error = rows_failed(batch.failed.front().second, batch.failed.size(), batch.placed);
  }
  batch.is_made = true;
  tell_ready();
}

}  // namespace infeed::detail
