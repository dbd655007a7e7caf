#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/pipeline/traced_place.h>

#include "engine/recording/number_ring.h"

namespace infeed::detail {

/// Remembers which records the last elements of a stage's pass were. Neighbours share an entry, so
/// that it is mostly one a file. Only stages of an iterator that records keep it.
///
/// Invariants: entries_ is guarded by mutex_, and in the order of positions.
class PlaceLog {
 public:
  /// Notes that the elements from `position` on are the records from `record` on.
  void add(std::uint64_t position, std::uint64_t count, std::string_view file, std::uint64_t record,
           std::optional<std::uint64_t> offset = std::nullopt) {
    add(position, count, file, record, 1, offset);
  }
  /// Notes elements that consist of `first.count` records each: the first element of the records at
  /// `first`, the next one of those behind them.
  void add(std::uint64_t position, std::uint64_t count, const RecordPlace& first) {
    add(position, count, first.file, first.record, first.count, first.offset);
  }
  /// Notes an element in an entry of its own, so that its offset is kept.
  void add_alone(std::uint64_t position, std::string_view file, std::uint64_t record,
                 std::optional<std::uint64_t> offset) {
    const std::lock_guard lock(mutex_);
    push({position, 1, nullptr, record, 1, offset}, file);
  }
  void add_alone(std::uint64_t position, const RecordPlace& place) {
    const std::lock_guard lock(mutex_);
    push({position, 1, nullptr, place.record, place.count, place.offset}, place.file);
  }
  /// Forgets the elements from `position` on.
  void forget_from(std::uint64_t position);
  TracedPlace find(std::uint64_t position) const;
  bool is_empty() const {
    const std::lock_guard lock(mutex_);
    return entries_.empty();
  }

 private:
  struct Entry {
    std::uint64_t position;
    std::uint64_t count;
    const std::string* file;
    std::uint64_t record;
    std::uint64_t records_each;
    std::optional<std::uint64_t> offset;  ///< place of the first record
  };
  // A resumed shuffle pulls the elements of its buffer one here, one there.
  static constexpr std::size_t kEntriesMax = std::size_t{1} << 16;

  void add(std::uint64_t position, std::uint64_t count, std::string_view file, std::uint64_t record,
           std::uint64_t records_each, std::optional<std::uint64_t> offset);
  void push(Entry entry, std::string_view file);

  mutable std::mutex mutex_;
  std::deque<std::string> files_;  ///< names that entries point to
  std::deque<Entry> entries_;
};

/// Remembers which elements of its input a stage has kept that drops some.
///
/// Invariants: only one thread at a time adds, the stage's; entries are in the order of
/// positions.
class PositionLog {
 public:
  struct Inputs {
    std::uint64_t position;
    std::uint64_t count;  ///< the element is one of this many inputs
  };
  /// Notes that `count` elements from `position` on are among `inputs`.
  void add(std::uint64_t position, std::uint64_t count, const Inputs& inputs);
  /// Notes that `count` rows from `position` on are the first rows of `input`, which has `each`
  /// rows. Neighbouring inputs with the same number of rows share an entry.
  void add_rows(std::uint64_t position, std::uint64_t count, std::uint64_t input,
                std::uint64_t each) {
    const bool goes_on = count == rows_.each && each == rows_.each && input == rows_.next_input &&
                         position == rows_.position + rows_.count;
    if (!goes_on) return begin_rows(position, count, input, each);
    ++rows_.next_input;
    entries_.set_last(kCount, rows_.count += count);
  }
  std::optional<Inputs> find(std::uint64_t position) const;

 private:
  enum Number : std::size_t { kPosition, kCount, kInputPosition, kInputCount, kNumbers };
  static constexpr std::uint64_t kEachIsOne = 0;  ///< kInputCount: neighbours, none was dropped
  static constexpr std::uint64_t kRows = std::uint64_t{1} << 63;  ///< kInputCount: and the rows

  void begin_rows(std::uint64_t position, std::uint64_t count, std::uint64_t input,
                  std::uint64_t each);

  /// The last entry, if it has all rows of its inputs. It is the writer's own.
  struct Rows {
    std::uint64_t position = 0;
    std::uint64_t count = 0;
    std::uint64_t next_input = 0;
    std::uint64_t each = 0;  ///< 0: it hasn't
  };

  NumberRing<kNumbers, 4096> entries_;
  Rows rows_;
};

/// Remembers which elements of its input the rows of a stage's last batches are.
///
/// Invariants: as PositionLog's. Row r of the element at a position p is number p * rows_max_ + r
/// there. A batch of fewer rows leaves a gap behind it, an element that is an error is one.
class RowLog {
 public:
  /// `rows_max`: the most rows of a batch.
  explicit RowLog(std::uint64_t rows_max) : rows_max_(rows_max) {}
  /// Notes that `count` rows from `row` on of the element at `position` are elements of the input, from
  /// `input` on.
  void add(std::uint64_t position, std::uint64_t row, std::uint64_t count, std::uint64_t input) {
    rows_.add(position * rows_max_ + row, count, {input, count});
  }
  /// Notes the same of the next rows of a batch in the making, whose position isn't known yet.
  void add_next(std::uint64_t count, std::uint64_t input) { next_.push_back({count, input}); }
  /// Says that this batch is the element at `position`.
  void end_batch(std::uint64_t position);
  void drop_batch() { next_.clear(); }
  /// Returns how many rows the element at `position` has; 0 if it is no batch, or lies too far back.
  std::uint64_t rows_of(std::uint64_t position) const;
  std::optional<std::uint64_t> find(std::uint64_t position, std::uint64_t row) const {
    const auto input = rows_.find(position * rows_max_ + row);
    return input ? std::optional(input->position) : std::nullopt;
  }

 private:
  struct Next {
    std::uint64_t count;
    std::uint64_t input;
  };

  const std::uint64_t rows_max_;
  PositionLog rows_;
  std::vector<Next> next_;  ///< the writer's own
};

/// Remembers which input each of the last 65,536 elements of a stage that chooses came from.
///
/// Invariants: all is guarded by mutex_.
class ChoiceLog {
 public:
  static constexpr std::uint16_t kNone = 0xFFFF;  ///< no input's: an error of the choice itself
  /// Adds the inputs that the next elements come from.
  void add(std::span<const std::uint16_t> inputs);
  /// Says, before the first add(), how many elements came before, and how many of each input.
  void begin_behind(std::uint64_t elements, std::vector<std::uint64_t> taken);
  struct Origin {
    std::size_t input;
    std::uint64_t position;  ///< among that input's elements
  };
  std::optional<Origin> find(std::uint64_t position) const;

 private:
  static constexpr std::size_t kChoicesMax = std::size_t{1} << 16;

  mutable std::mutex mutex_;
  std::deque<std::uint16_t> last_;    ///< at most kChoicesMax
  std::vector<std::uint64_t> taken_;  ///< elements of each input, so far
  std::uint64_t count_ = 0;           ///< elements so far
};

}  // namespace infeed::detail
