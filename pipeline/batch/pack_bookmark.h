#pragma once

#include <climits>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <infeed/pipeline/detail/resume.h>
#include <infeed/records/dtype.h>

#include "engine/resume/bookmark_numbers.h"

namespace infeed::detail {

/// The place of a part of a document in the input.
struct PackPlace {
  std::uint64_t element = 0;
  std::uint64_t document = 0;  ///< number in the element, which may be a batch
  std::uint64_t part = 0;      ///< number in a document that is split

  friend auto operator<=>(const PackPlace&, const PackPlace&) = default;
};

/// A column that the first ColumnBatch of the pass told. Later ones may have more, which aren't packed.
struct PackToldColumn {
  DType dtype;
  std::string name = {};  ///< empty if the options name the columns

  /// Appends the type and the bytes of the name, eight to a number.
  void append_to(std::vector<std::uint64_t>& numbers) const {
    numbers.push_back(name.size() << CHAR_BIT | static_cast<std::uint64_t>(dtype));
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (i % sizeof(std::uint64_t) == 0) numbers.push_back(0);
      const std::uint64_t byte = static_cast<unsigned char>(name[i]);
      numbers.back() |= byte << (CHAR_BIT * (i % sizeof(std::uint64_t)));
    }
  }
  static PackToldColumn taken_from(BookmarkNumbers& numbers) {
    const std::uint64_t most = numbers.rest().size() * sizeof(std::uint64_t);
    const std::uint64_t front = numbers.take(0, (most << CHAR_BIT) + UCHAR_MAX);
    PackToldColumn column{.dtype = static_cast<DType>(front % (UCHAR_MAX + 1))};
    numbers.expect(column.dtype < DType::bytes);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < front >> CHAR_BIT; ++i, word >>= CHAR_BIT) {
      if (i % sizeof(std::uint64_t) == 0) word = numbers.take();
      column.name.push_back(static_cast<char>(word % (UCHAR_MAX + 1)));
    }
    return column;
  }
};

/// The numbers of a bookmark of pack. The rows of the next batches hold nothing from before
/// `begin`, so they are packed again from there: into those rows and the rows that were open, of
/// which only the room matters.
struct PackBookmark {
  /// Mark that is added to the number of `told`. In bookmarks of earlier builds the room of a row
  /// stands there, which is less: a full row would pass for no column, and a resume would give nothing.
  static constexpr std::uint64_t kTold = std::uint64_t{1} << 63;

  PackPlace begin;                       ///< the part that began the next batch's first row
  PackPlace end;                         ///< the next part
  std::uint64_t parts = 0;               ///< before `end`
  std::vector<std::uint64_t> told = {};  ///< numbers of the PackToldColumns, of ColumnBatches
  std::vector<std::uint64_t> room = {};  ///< PackRows::room_before_next_batch()

  /// Returns true if the checkpoint would be longer than 4 KB. Eight bytes of a name have four times as
  /// many digits as the room of a row.
  bool is_too_long() const { return room.size() + 4 * told.size() > 768; }
  std::vector<std::uint64_t> state(bool is_columns) const {
    std::vector<std::uint64_t> numbers{parts,       begin.document, begin.part,
                                       end.element, end.document,   end.part};
    if (is_columns) numbers.push_back(kTold + told.size());
    numbers.insert(numbers.end(), told.begin(), told.end());
    numbers.insert(numbers.end(), room.begin(), room.end());
    return numbers;
  }
  /// Throws `bad` for numbers that no pack has noted.
  static PackBookmark of(const Bookmark& bookmark, bool is_columns, const Error& bad) {
    BookmarkNumbers state(bookmark.state, bad);
    state.expect(bookmark.inputs.size() == 1);
    PackBookmark packed;
    packed.parts = state.take();
    packed.begin = {bookmark.inputs[0], state.take(), state.take()};
    packed.end = {state.take(), state.take(), state.take()};
    state.expect(packed.begin <= packed.end);
    const std::uint64_t told =
        is_columns ? state.take(kTold + 1, kTold + state.rest().size() - 1) - kTold : 0;
    const auto left = state.rest();
    packed.told.assign(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(told));
    packed.room.assign(left.begin() + static_cast<std::ptrdiff_t>(told), left.end());
    return packed;
  }
};

}  // namespace infeed::detail
