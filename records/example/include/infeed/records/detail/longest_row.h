#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace infeed::detail {

/// Finds the longest row of a column in the making. It is asked for once for each few rows, so it
/// looks only at rows that are new since.
class LongestRow {
 public:
  /// Returns the length of the longest row. `splits` are those of truncate() and appended rows.
  std::int64_t length(std::span<const std::int64_t> splits) {
    for (; rows_ + 1 < splits.size(); ++rows_) {
      length_ = std::max(length_, splits[rows_ + 1] - splits[rows_]);
    }
    return length_;
  }
  /// Forgets the rows behind the first `rows`.
  void truncate(std::size_t rows) {
    if (rows < rows_) *this = {};
  }

 private:
  std::size_t rows_ = 0;  ///< rows that were looked at
  std::int64_t length_ = 0;
};

}  // namespace infeed::detail
