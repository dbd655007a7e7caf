#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <infeed/records/column.h>

namespace infeed::test {

/// Returns the texts of a column, those of all its rows.
inline std::vector<std::string> column_texts(const Column& column) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i + 1 < std::ssize(column.offsets()); ++i)
    all.emplace_back(column.bytes(i));
  return all;
}

}  // namespace infeed::test
