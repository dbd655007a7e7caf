#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/column_parser.h>

namespace infeed::test {

/// Returns one batch of all the records.
inline ColumnBatch parse_all(const ColumnParser& parser, const std::vector<std::string>& records) {
  ColumnRows rows = parser.begin(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) parser.parse_row(records[i], nullptr, i, rows);
  return parser.finish(std::move(rows), records.size());
}

}  // namespace infeed::test
