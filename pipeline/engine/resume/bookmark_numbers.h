#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <infeed/error.h>

namespace infeed::detail {

/// Reads the numbers of a bookmark from the front. A checkpoint may be damaged, so each number says
/// what it may be.
///
///     BookmarkNumbers state(bookmark.state, bad_bookmark());
///     const std::uint64_t row = state.take(0, rows_max);
///     state.expect_end();
///
/// Errors: the one it was given, for a number that is missing, too many or out of its range.
/// Ownership: the bookmark must live as long.
class BookmarkNumbers {
 public:
  BookmarkNumbers(std::span<const std::uint64_t> numbers, Error bad)
      : left_(numbers), bad_(std::move(bad)) {}

  /// Returns the next number, which lies from `min` to `max`.
  std::uint64_t take(std::uint64_t min = 0,
                     std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
    if (left_.empty() || left_.front() < min || left_.front() > max) throw bad_;
    const std::uint64_t number = left_.front();
    left_ = left_.subspan(1);
    return number;
  }
  /// Returns the numbers that nobody has taken.
  std::span<const std::uint64_t> rest() const { return left_; }
  bool is_empty() const { return left_.empty(); }
  void expect(bool is_so) const {
    if (!is_so) throw bad_;
  }
  void expect_end() const { expect(left_.empty()); }

 private:
  std::span<const std::uint64_t> left_;
  Error bad_;
};

}  // namespace infeed::detail
