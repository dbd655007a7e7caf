#pragma once

#include <vector>

#include <infeed/pipeline/map.h>
#include <infeed/pipeline/sequence_batch.h>

#include "pipeline/suite/elements.h"

/// The common part of the tests of padded, ragged and bucketed batches: the element n as a sequence
/// of (5 n) mod 7 numbers n, and batches as vectors of rows, which show() can show.
namespace infeed::test {

using Sequence = std::vector<std::int64_t>;
using Rows = std::vector<Sequence>;

inline Sequence sequence_of(std::int64_t n) {
  return Sequence(static_cast<std::size_t>(5 * n % 7), n);
}
inline auto to_sequences() {
  return map([](std::int64_t n) { return sequence_of(n); });
}

/// Works for Padded and Ragged.
template <class Column>
Rows rows_of(const Column& column) {
  Rows rows;
  for (std::size_t i = 0; i < column.size(); ++i) {
    rows.emplace_back(column.row(i).begin(), column.row(i).end());
  }
  return rows;
}
inline auto to_rows() {
  return map([](const auto& batch) { return rows_of(batch.sequences()); });
}

inline void pad_rows(Rows& rows, std::size_t width, std::int64_t padding) {
  for (Sequence& row : rows) row.resize(width, padding);
}
inline std::size_t longest_of(const Rows& rows) {
  std::size_t longest = 0;
  for (const Sequence& row : rows) longest = std::max(longest, row.size());
  return longest;
}

}  // namespace infeed::test
