#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>

#include "records/tfrecord/framed.h"

/// NumPy's files as NumPy writes them.
namespace infeed::test {

inline std::string npy_with_header(std::string header, const std::string& bytes) {
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size() & 0xFF) +
         static_cast<char>(header.size() >> 8) + header + bytes;
}

inline std::string npy_of(const std::string& type, const std::string& shape,
                          const std::string& bytes) {
  return npy_with_header(
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape), bytes);
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A little-endian number of so many bytes.
inline std::string little_number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

/// Returns a zip file; with `has_zip64`, sizes and places are in ZIP64's fields.
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members,
                          bool is_deflated = false, bool has_zip64 = false) {
  std::string file;
  std::string directory;
  for (const auto& [name, bytes] : members) {
    const std::string packed = is_deflated ? raw_deflate(bytes) : bytes;
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
    const std::string common = little_number(0, 2) + little_number(is_deflated ? 8 : 0, 2) +
                               little_number(0, 4) + little_number(crc, 4);
    const std::uint64_t at = file.size();
    file += "PK\3\4" + little_number(45, 2) + common + little_number(packed.size(), 4) +
            little_number(bytes.size(), 4) + little_number(name.size(), 2) + little_number(0, 2) +
            name + packed;
    const std::string extra = has_zip64 ? little_number(1, 2) + little_number(24, 2) +
                                              little_number(bytes.size(), 8) +
                                              little_number(packed.size(), 8) + little_number(at, 8)
                                        : "";
    const std::uint64_t elsewhere = 0xFFFFFFFF;
    directory += "PK\1\2" + little_number(45, 2) + little_number(45, 2) + common +
                 little_number(has_zip64 ? elsewhere : packed.size(), 4) +
                 little_number(has_zip64 ? elsewhere : bytes.size(), 4) +
                 little_number(name.size(), 2) + little_number(extra.size(), 2) +
                 little_number(0, 2) + little_number(0, 2) + little_number(0, 2) +
                 little_number(0, 4) + little_number(has_zip64 ? elsewhere : at, 4) + name + extra;
  }
  const std::uint64_t begin = file.size();
  const std::size_t count = members.size();
  file += directory;
  if (has_zip64) {
    const std::uint64_t end64 = file.size();
    file += "PK\6\6" + little_number(44, 8) + little_number(45, 2) + little_number(45, 2) +
            little_number(0, 8) + little_number(count, 8) + little_number(count, 8) +
            little_number(directory.size(), 8) + little_number(begin, 8);
    file += "PK\6\7" + little_number(0, 4) + little_number(end64, 8) + little_number(1, 4);
  }
  return file + "PK\5\6" + little_number(0, 4) + little_number(has_zip64 ? 0xFFFF : count, 2) +
         little_number(has_zip64 ? 0xFFFF : count, 2) + little_number(directory.size(), 4) +
         little_number(has_zip64 ? 0xFFFFFFFF : begin, 4) + little_number(0, 2);
}

}  // namespace infeed::test
