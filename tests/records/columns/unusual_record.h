#pragma once

#include <string>

namespace infeed::test {

/// Returns the record with an unknown field in front: it is read in the general way, and means the
/// same.
inline std::string unusual(const std::string& record) {
  return std::string("\x78\x00", 2) + record;
}

}  // namespace infeed::test
