#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "batch/row_filler.h"
#include "engine/iterator_context.h"
#include "engine/recording/call_watch.h"
#include "engine/recording/note_calls.h"
#include "engine/threads/clock.h"

namespace infeed::detail {

/// Times the rows of a piece in an iterator that records: one by one where that costs little, so
/// that a slow one is known by its place.
class RowFiller::RowWatch {
 public:
  RowWatch(const RowFiller& filler, const Piece& piece) : filler_(filler), piece_(piece) {}

  /// Row i of the piece is next.
  void begin(std::size_t i) {
    if (filler_.run_.recorder() == nullptr || i < next_) return;
    end(i);
    first_ = i;
    next_ = i + block_;
    watch_.emplace(filler_.run_.recorder(), filler_.counters_);
  }
  /// Those before row `end` are written.
  void end(std::size_t end) {
    if (!watch_ || !watch_->is_on()) return;
    const OwnTime time = watch_->end(ticks_now());
    const std::uint64_t count = end - first_;
    filler_.counters_.note_calls(filler_.run_.recorder()->ns_of(time, count), count, true);
    block_ = time.ticks < count * ticks_of_us(kWorthWatchingRowUs) ? kRowsWatchedAtOnce : 1;
    if (filler_.run_.recorder()->is_slow(time)) note_slow(time, count);
  }

 private:
  void note_slow(const OwnTime& time, std::uint64_t count) const {
    const std::uint64_t position = filler_.begin_.position + piece_.position + first_;
    TracedPlace traced;
    if (piece_.rows->chunk) {
      traced = trace_range(filler_.input_, position, count);
    } else {
      const RecordBlock& block = piece_.rows->block;
      const RecordPosition at = block.position(piece_.first + first_);
      traced.place = {block.file().file_name(), at.record, count, at.offset};
    }
    filler_.run_.recorder()->note_slow(filler_.counters_, time,
                                       {filler_.begin_.epoch, position, count}, std::move(traced));
  }

  // A watch costs 30 ns.
  static constexpr double kWorthWatchingRowUs = 2;
  static constexpr std::size_t kRowsWatchedAtOnce = 32;

  const RowFiller& filler_;
  const Piece& piece_;
  std::optional<CallWatch> watch_;
  std::size_t block_ = 1;
  std::size_t first_ = 0;
  std::size_t next_ = 0;
};

}  // namespace infeed::detail
