#include "batch/fill/row_writer.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include <infeed/detail/late_copy.h>

#include "engine/recording/call_watch.h"
#include "engine/recording/note_calls.h"
#include "engine/statistics/pull_sample.h"
#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

// The shortest time of a row that is watched alone: a watch costs 30 ns.
constexpr double kWorthWatchingRowUs = 2;
constexpr std::size_t kRowsWatchedAtOnce = 32;

/// A Record that is never destroyed, since it holds no reference.
union BorrowedRecord {
  BorrowedRecord() {}
  ~BorrowedRecord() {}
  Record record;
};

/// Writes records of a block to rows. A record with a large value is parsed before it is verified,
/// so that the value is copied while the checksum is computed. Other records are verified first, so
/// that the parser finds their bytes in the nearest cache.
class RecordParser {
 public:
  RecordParser(const RowFillSpec& spec, const RecordBlock& block)
      : spec_(spec), block_(block), parses_first_(spec.write_unverified != nullptr) {}

  /// Returns false if record `at` is damaged; then nothing was written.
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
    // More rows may be appended before the damaged one and all after it are forgotten.
    if (error == nullptr && !spec_.rows_have_places) spec_.truncate(filling, row);
    return false;
  }

 private:
  const RowFillSpec& spec_;
  const RecordBlock& block_;
  bool parses_first_;
};

constexpr std::size_t kCacheLineBytes = 64;
// A few kilobytes are on their way at once; a long record's own bytes stream in behind its first.
constexpr std::size_t kFetchedBytesMax = 2048;
constexpr std::size_t kElementsFetchedAhead = 2;

/// Fetches records' bytes into the cache a little before they are parsed. Behind a shuffle they lie
/// apart, and each would wait for memory: batches of 784 byte images behind a shuffle of 10,000 come
/// 1.2 times as fast (benchmarks/compare.sh python).
class RecordFetch {
 public:
  explicit RecordFetch(const Chunk& chunk)
      : chunk_(chunk), is_on_(&chunk.type() == &type_info<Record>()) {}

  // Inlined, since GCC leaves out a call of a function that only fetches.
  [[gnu::always_inline]] void fetch(std::size_t at) const {
    if (!is_on_ || at >= chunk_.size()) return;
    const std::string_view bytes = static_cast<const Record*>(chunk_.value(at))->bytes();
    const char* const end = bytes.data() + std::min(bytes.size(), kFetchedBytesMax);
    for (const char* line = bytes.data(); line < end; line += kCacheLineBytes) {
      __builtin_prefetch(line);
    }
  }

 private:
  const Chunk& chunk_;
  bool is_on_;
};

void note_row(PieceOutcome& outcome, std::size_t row, ErrorPointer error) {
  if (error == nullptr) {
    ++outcome.appended;
    return;
  }
  if (outcome.failed.empty()) outcome.first_error = std::move(error);
  outcome.failed.push_back(row);
}

}  // namespace

/// Times the rows of a piece, if the iterator records: one by one if that costs little, so that the
/// place of a slow row is known.
class RowWriter::Watch {
 public:
  Watch(const RowWriter& writer, const Piece& piece) : writer_(writer), piece_(piece) {}

  /// Says that row i of the piece is next.
  void begin(std::size_t i) {
    if (writer_.run_.recorder() == nullptr || i < next_) return;
    end(i);
    first_ = i;
    next_ = i + block_;
    watch_.emplace(writer_.run_.recorder(), writer_.counters_);
  }
  /// Says that the rows before `end` are written.
  void end(std::size_t end) {
    if (!watch_ || !watch_->is_on()) return;
    const OwnTime time = watch_->end(ticks_now());
    const std::uint64_t count = end - first_;
    writer_.counters_.note_calls(writer_.run_.recorder()->clock().ns_of(time, count), count, true);
    const bool is_slow = writer_.run_.recorder()->clock().is_slow(time);
    writer_.one_by_one_.note(time.ticks, count, is_slow);
    const bool is_cheap = time.ticks < count * ticks_of_us(kWorthWatchingRowUs);
    block_ = is_cheap && !writer_.one_by_one_.is_due() ? kRowsWatchedAtOnce : 1;
    if (is_slow) note_slow(time, count);
  }

 private:
  void note_slow(const OwnTime& time, std::uint64_t count) const {
    const std::uint64_t position = writer_.begin_.position + piece_.position + first_;
    TracedPlace traced;
    if (piece_.rows->chunk) {
      traced = trace_range(writer_.input_, piece_.rows->position + piece_.first + first_, count);
    } else {
      const RecordBlock& block = piece_.rows->block;
      const RecordPosition at = block.position(piece_.first + first_);
      traced.place = {block.file().file_name(), at.record, count, at.offset};
    }
    writer_.run_.recorder()->note_slow(writer_.counters_, time,
                                       {writer_.begin_.epoch, position, count}, std::move(traced));
  }

  const RowWriter& writer_;
  const Piece& piece_;
  std::optional<CallWatch> watch_;
  std::size_t block_ = 1;
  std::size_t first_ = 0;
  std::size_t next_ = 0;
};

PieceOutcome RowWriter::write(const Piece& piece, bool is_sampled) const {
  PieceOutcome outcome;
  const std::uint64_t begin_cpu_ns = is_sampled ? thread_cpu_ns() : 0;
  const std::uint64_t begin_ticks = ticks_now();
  if (piece.rows->chunk) {
    write_elements(piece, outcome);
  } else {
    write_records(piece, outcome);
  }
  outcome.ticks = ticks_now() - begin_ticks;
  if (is_sampled) outcome.cpu_ns = thread_cpu_ns() - begin_cpu_ns;
  return outcome;
}

Place RowWriter::place_of(const Piece& piece) const {
  Place place = begin_;
  place.position += piece.position;
  return place;
}

std::size_t RowWriter::next_row(const Piece& piece, const PieceOutcome& outcome,
                                std::size_t i) const {
  return spec_.rows_have_places ? piece.row + i : piece.batch->appended + outcome.appended;
}

void RowWriter::write_elements(const Piece& piece, PieceOutcome& outcome) const {
  Chunk& chunk = *piece.rows->chunk;
  const Place place = place_of(piece);
  const RecordFetch ahead(chunk);
  Watch watch(*this, piece);
  for (std::size_t i = 0; i < piece.count; ++i) {
    ahead.fetch(piece.first + i + kElementsFetchedAhead);
    watch.begin(i);
    note_row(outcome, piece.row + i,
             spec_.write(spec_.fill.get(), chunk.value(piece.first + i), piece.batch->filling,
                         next_row(piece, outcome, i), place, i));
  }
  watch.end(piece.count);
}

void RowWriter::write_records(const Piece& piece, PieceOutcome& outcome) const {
  RecordParser parser(spec_, piece.rows->block);
  const Place place = place_of(piece);
  Watch watch(*this, piece);
  for (std::size_t i = 0; i < piece.count; ++i) {
    const std::size_t at = piece.first + i;
    watch.begin(i);
    ErrorPointer error;
    const bool is_whole = at < piece.rows->whole;
    if (!is_whole ||
        !parser.write(at, piece.batch->filling, next_row(piece, outcome, i), place, i, error)) {
      outcome.damaged = i;
      break;
    }
    note_row(outcome, piece.row + i, std::move(error));
  }
  watch.end(piece.count);
}

}  // namespace infeed::detail
