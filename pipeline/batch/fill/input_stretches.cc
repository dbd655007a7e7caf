#include "batch/fill/input_stretches.h"

#include <algorithm>
#include <utility>

#include <infeed/detail/terminal_error.h>

#include "engine/iterator_context.h"
#include "engine/recording/call_watch.h"
#include "engine/statistics/pull_sample.h"
#include "engine/threads/clock.h"
#include "engine/work/error_bytes.h"

namespace infeed::detail {
namespace {

// The most parked stretches per thread: others may have read that many while a thread has lost its
// core.
constexpr std::size_t kParkedPerThread = 4;
// Stretches from one CPU clock measurement to the next.
constexpr std::uint64_t kSampledStretches = 8;

}  // namespace

bool InputStretches::can_claim(std::size_t threads, bool is_written) const {
  if (is_claiming_ || !has_input_left_ || !has_blocks_left_) return false;
  if (parked_.size() > kParkedPerThread * threads) return false;
  return !is_short_ || (parked_.empty() && is_written);
}

std::optional<InputStretches::Claimed> InputStretches::claim(Lock& lock, OwnStretches& own,
                                                             std::size_t pulled_max,
                                                             bool is_written) {
  std::shared_ptr<InputRows> rows = own.take_free();
  if (rows == nullptr || rows->chunk) rows = std::make_shared<InputRows>();
  if (is_short_) own.drop_free();
  rows->placed = 0;
  rows->is_framed = false;
  // One stretch at a time is read even if there is no room.
  is_short_ = !rows->held.try_grow_to(run_.memory(), bytes_);
  if (is_short_ && !(parked_.empty() && is_written)) {
    is_claiming_ = false;
    return std::nullopt;
  }
  lock.unlock();
  if (source_ == nullptr) source_ = input_.record_blocks();
  std::uint64_t ticks = 0;
  if (source_ != nullptr) {
    if (!claim_block(lock, *rows, ticks)) return std::nullopt;
    parked_.emplace_back();
    return Claimed{std::move(rows), first_parked_ + parked_.size() - 1, ticks, false};
  }
  pull(*rows, pulled_max);
  HandOff::lock_again(lock);
  const Chunk& chunk = *rows->chunk;
  hold(*rows, chunk.bytes() + (chunk.has_error() ? bytes_when_kept(*chunk.error()) : 0));
  is_claiming_ = false;
  if (hand_off_.stopped()) return std::nullopt;
  has_input_left_ = !rows->is_end;
  parked_.push_back(rows);
  return Claimed{std::move(rows), first_parked_ + parked_.size() - 1, ticks, true};
}

bool InputStretches::claim_block(Lock& lock, InputRows& rows, std::uint64_t& ticks) {
  const std::uint64_t begin_ticks = ticks_now();
  const bool is_claimed = source_->claim(rows.block);
  ticks = ticks_now() - begin_ticks;
  HandOff::lock_again(lock);
  is_claiming_ = false;
  reads_blocks_ = is_claimed;
  if (!is_claimed) has_blocks_left_ = false;
  return is_claimed;
}

void InputStretches::pull(InputRows& rows, std::size_t want) {
  Chunk& chunk = rows.chunk.emplace(in_type_);
  rows.is_framed = true;
  Pull pulled = Pull::end;
  try {
    pulled = input_.pull(chunk, std::min(want, chunk.capacity()));
  } catch (...) {
    rows.failure = terminal_error();
  }
  rows.position = pulled_;
  pulled_ += chunk.slots();
  rows.is_end = pulled == Pull::end;
  if (pulled == Pull::cancelled) hand_off_.stop();
}

void InputStretches::read(Lock& lock, const Claimed& claimed) {
  InputRows& rows = *claimed.rows;
  lock.unlock();
  read_block(rows, claimed.ticks, claimed.number % kSampledStretches == 0);
  HandOff::lock_again(lock);
  // A slow read is remembered for a while.
  slow_read_ticks_ = std::max(rows.taken.ticks, slow_read_ticks_ - slow_read_ticks_ / 16);
  hold(rows, rows.block.memory_bytes());
  parked_[static_cast<std::size_t>(claimed.number - first_parked_)] = claimed.rows;
}

void InputStretches::read_block(InputRows& rows, std::uint64_t claim_ticks, bool is_sampled) const {
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
    if (run_.recorder()->clock().is_slow(time)) rows.slow_read = {time.begin_ticks, time.ticks};
  }
  taken.ticks = claim_ticks + read_ticks;
  if (!is_sampled) return;
  taken.sampled_ticks = read_ticks;
  taken.sampled_cpu_ns = thread_cpu_ns() - begin_cpu_ns;
}

void InputStretches::hold(InputRows& rows, std::uint64_t bytes) {
  // If sizes vary, the next stretch may be as large as any recent one.
  bytes_ = std::max(bytes, bytes_ - bytes_ / 16);
  if (rows.held.try_grow_to(run_.memory(), bytes)) return;
  rows.held.set(run_.memory(), bytes);
  is_short_ = true;
}

void InputStretches::pop_front() {
  parked_.pop_front();
  ++first_parked_;
}

std::optional<RecordBlockSource::Place> InputStretches::frame(Lock& lock, InputRows& rows,
                                                              std::uint64_t position) {
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
  hold(rows, block.memory_bytes());
  source_->note(rows.taken);
  if (!not_given_) not_given_ = position;
  if (rows.slow_read.ticks != 0) source_->note_slow_read(block, rows.slow_read);
  if (run_.keeps_places() && block.size() != 0) {
    const RecordPosition first = block.position(0);
    if (run_.traces()) {
      for (std::size_t i = 0; i < block.size(); ++i) {
        const RecordPosition each = block.position(i);
        places_.add_alone(position + i, file.file_name(), each.record, each.offset);
      }
    } else {
      places_.add(position, block.size(), file.file_name(), first.record, first.offset);
    }
  }
  rows_max_ = std::max(rows_max_, block.size());
  if (is_good) return std::nullopt;
  return RecordBlockSource::Place{&file, file.next()};
}

void InputStretches::note_given(std::uint64_t position) {
  if (!not_given_ || position <= *not_given_) return;
  source_->note_given(position - *not_given_);
  not_given_ = position;
}

void InputStretches::leave_blocks(std::uint64_t position,
                                  const std::optional<RecordBlockSource::Place>& place) {
  note_given(position);
  not_given_.reset();
  std::exchange(source_, nullptr)->leave(place);
  reads_blocks_ = false;
  has_blocks_left_ = true;
}

}  // namespace infeed::detail
