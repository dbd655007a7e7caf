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

/// Which records the elements of a stage's pass were, as far as it looks back: neighbours take one
/// entry together, so that it is mostly one a file. Only stages of an iterator that records keep it.
///
/// Invariants: entries_ is guarded by mutex_, and in the order of positions.
class PlaceLog {
 public:
  /// The elements from `position` on are records from `record` on.
  void add(std::uint64_t position, std::uint64_t count, std::string_view file, std::uint64_t record,
           std::optional<std::uint64_t> offset = std::nullopt) {
    add(position, count, file, record, 1, offset);
  }
  /// The first of them is one of `first.count` records, and the next one of as many behind those.
  void add(std::uint64_t position, std::uint64_t count, const RecordPlace& first) {
    add(position, count, first.file, first.record, first.count, first.offset);
  }
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
  static constexpr std::size_t kEntriesMax = 4096;

  void add(std::uint64_t position, std::uint64_t count, std::string_view file, std::uint64_t record,
           std::uint64_t records_each, std::optional<std::uint64_t> offset);

  mutable std::mutex mutex_;
  std::deque<std::string> files_;  ///< that entries point to
  std::deque<Entry> entries_;
};

/// Which elements of its input the elements of a stage that drops some are.
///
/// Invariants: only one thread at a time adds, the stage's; entries are in the order of
/// positions.
class PositionLog {
 public:
  struct Inputs {
    std::uint64_t position;
    std::uint64_t count;  ///< it is one of so many
  };
  /// `count` elements from `position` on are among those inputs.
  void add(std::uint64_t position, std::uint64_t count, const Inputs& inputs);
  /// `count` rows from `position` on are the first ones of this input, which has `each`. Inputs of
  /// as many rows that follow each other take one entry together.
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
  static constexpr std::uint64_t kEachIsOne = 0;  ///< kInputCount: of neighbours, none was dropped
  static constexpr std::uint64_t kRows = std::uint64_t{1} << 63;  ///< kInputCount: and so many each

  void begin_rows(std::uint64_t position, std::uint64_t count, std::uint64_t input,
                  std::uint64_t each);

  /// The last entry where it is one of whole inputs' rows; the writer's own.
  struct Rows {
    std::uint64_t position = 0;
    std::uint64_t count = 0;
    std::uint64_t next_input = 0;
    std::uint64_t each = 0;  ///< 0: it isn't
  };

  NumberRing<kNumbers, 4096> entries_;
  Rows rows_;
};

/// Which input each element of a stage that chooses came from: of the last 65,536.
///
/// Invariants: all is guarded by mutex_.
class ChoiceLog {
 public:
  static constexpr std::uint16_t kNone = 0xFFFF;  ///< no input's: an error of the choice itself
  /// Adds the inputs that the next elements come from.
  void add(std::span<const std::uint16_t> inputs);
  struct Origin {
    std::size_t input;
    std::uint64_t position;  ///< among that input's elements
  };
  std::optional<Origin> find(std::uint64_t position) const;

 private:
  static constexpr std::size_t kChoicesMax = std::size_t{1} << 16;

  mutable std::mutex mutex_;
  std::vector<std::uint16_t> ring_;   ///< has kChoicesMax, once there is any
  std::vector<std::uint64_t> taken_;  ///< elements of each input, so far
  std::uint64_t count_ = 0;           ///< elements so far
};

}  // namespace infeed::detail
