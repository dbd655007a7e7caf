#pragma once

#include <fmt/format.h>
#include <string>

namespace infeed::test {

inline std::string npy(const std::string& type, const std::string& shape,
                       const std::string& bytes) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  header.resize(128 - 10 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + bytes;
}

}  // namespace infeed::test
