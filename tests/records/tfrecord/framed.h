#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>
#include <zlib.h>

#include <infeed/records/crc32c.h>

/// Record files made by hand, independently of RecordWriter, so that a mistake there can't hide.
namespace infeed::test {

template <class T>
std::string little(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
  return bytes;
}

inline std::string frame(std::string_view payload) {
  const std::string length = little<std::uint64_t>(payload.size());
  return length + little(mask_crc32c(crc32c(length))) + std::string(payload) +
         little(mask_crc32c(crc32c(payload)));
}

inline std::string frame(const std::vector<std::string>& payloads) {
  std::string bytes;
  for (const auto& payload : payloads) bytes += frame(payload);
  return bytes;
}

/// Compresses with zlib: window bits 15 for a zlib stream, 31 for gzip, -15 for neither.
inline std::string deflate_with(std::string_view bytes, int window_bits) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) throw std::runtime_error("deflate");
  return out;
}
inline std::string gzip(std::string_view bytes) { return deflate_with(bytes, 31); }
inline std::string zlib(std::string_view bytes) { return deflate_with(bytes, 15); }
inline std::string raw_deflate(std::string_view bytes) { return deflate_with(bytes, -15); }

}  // namespace infeed::test
