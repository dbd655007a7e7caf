#pragma once

#include <cstdint>
#include <string>

#include <infeed/records/record.h>

namespace infeed {

/// Returns the number that a record of these tests holds.
inline std::int64_t value_of(const Record& record) {
  return std::stoll(std::string(record.bytes()));
}

}  // namespace infeed
