#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/resume.h>

namespace infeed::detail {

/// The place of a part of a document in the input.
struct PackPlace {
  std::uint64_t element = 0;
  std::uint64_t document = 0;  ///< number in the element, which may be a batch
  std::uint64_t part = 0;      ///< number in a document that is split

  friend auto operator<=>(const PackPlace&, const PackPlace&) = default;
};

/// The numbers of a bookmark of pack. The rows of the next batches hold nothing from before
/// `begin`, so they are packed again from there: into those rows and the rows that were open, of
/// which only the room matters.
struct PackBookmark {
  PackPlace begin;                       ///< the part that began the next batch's first row
  PackPlace end;                         ///< the next part
  std::uint64_t parts = 0;               ///< before `end`
  std::vector<std::uint64_t> room = {};  ///< PackRows::room_before_next_batch()

  std::vector<std::uint64_t> state() const {
    std::vector<std::uint64_t> numbers{parts,       begin.document, begin.part,
                                       end.element, end.document,   end.part};
    numbers.insert(numbers.end(), room.begin(), room.end());
    return numbers;
  }
  /// Returns nothing for numbers that no pack has noted.
  static std::optional<PackBookmark> of(const Bookmark& bookmark) {
    constexpr std::ptrdiff_t kPlaces = 6;
    const auto& state = bookmark.state;
    if (bookmark.inputs.size() != 1 || std::ssize(state) < kPlaces) return std::nullopt;
    PackBookmark packed{{bookmark.inputs[0], state[1], state[2]},
                        {state[3], state[4], state[5]},
                        state[0],
                        {state.begin() + kPlaces, state.end()}};
    return packed.end < packed.begin ? std::nullopt : std::optional(std::move(packed));
  }
};

}  // namespace infeed::detail
