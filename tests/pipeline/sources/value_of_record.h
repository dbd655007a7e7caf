#pragma once

#include <cstdint>
#include <string>

#include <infeed/records/record.h>

namespace infeed {

/// A record of these tests holds a number.
inline std::int64_t value_of(const Record& record) {
  return std::stoll(std::string(record.bytes()));
}

}  // namespace infeed
