#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace infeed::detail {

/// Adds up what the values of a column in the making own. It is asked for once for each few rows, so
/// it looks only at values that are new since.
class SumSoFar {
 public:
  /// Returns the sum over all values. `values` are those of truncate() and appended ones, and
  /// `sum_of` adds up neighbouring ones.
  template <class U, class SumOf>
  std::size_t of(std::span<const U> values, const SumOf& sum_of) {
    sum_ += sum_of(values.subspan(std::exchange(count_, values.size())));
    return sum_;
  }
  /// Forgets the values behind the first `count`.
  void truncate(std::size_t count) {
    if (count < count_) *this = {};
  }

 private:
  std::size_t count_ = 0;  ///< values that were looked at
  std::size_t sum_ = 0;
};

}  // namespace infeed::detail
