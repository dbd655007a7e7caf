#include "parse_loop.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <isa-l/crc.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#if defined(__AVX512BW__) && defined(__BMI2__)
#include <immintrin.h>
#define INFEED_COMPARE_HAS_AVX512 1
#endif

// This file is compiled for the machine on which it runs (benchmarks/CMakeLists.txt).
namespace infeed::compare {
namespace {

using Byte = std::uint8_t;

constexpr std::size_t kRowsPerBatch = 128;
// Batches that are under way at once, as in a pipeline.
constexpr std::size_t kBatches = 4;

/// The tag of the list inside a Feature.
enum class Kind : Byte { bytes = 0x0a, floats = 0x12, integers = 0x1a };

struct PlainColumn {
  std::string name;
  Kind kind;
  std::vector<std::string_view> bytes;
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
};

inline bool read_varint(const Byte*& at, const Byte* end, std::uint64_t& value) {
  if (at < end && *at < 0x80) {
    value = *at++;
    return true;
  }
  value = 0;
  for (int shift = 0; at < end && shift < 70; shift += 7) {
    const Byte byte = *at++;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Appends packed varints; with AVX-512, 64 bytes at a time: the mask of bytes that end a varint
/// tells where each lies, and pext takes its bits.
bool append_packed(const Byte* at, const Byte* end, std::vector<std::int64_t>& out) {
  std::size_t count = out.size();
  out.resize(count + static_cast<std::size_t>(end - at) + 64);
  std::int64_t* const values = out.data();
#if defined(INFEED_COMPARE_HAS_AVX512)
  while (end - at >= 72) {
    const __m512i block = _mm512_loadu_si512(at);
    std::uint64_t ends = ~static_cast<std::uint64_t>(_mm512_movepi8_mask(block));
    if (ends == ~std::uint64_t{0}) {  // 64 values below 128
      for (int i = 0; i < 64; i += 8) {
        const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + i));
        _mm512_storeu_si512(values + count + i, _mm512_cvtepu8_epi64(eight));
      }
      count += 64;
      at += 64;
      continue;
    }
    unsigned start = 0;
    while (ends != 0) {
      const auto last = static_cast<unsigned>(__builtin_ctzll(ends));
      const unsigned size = last - start + 1;
      if (size > 8) break;
      ends &= ends - 1;
      std::uint64_t word;
      std::memcpy(&word, at + start, 8);
      values[count++] =
          static_cast<std::int64_t>(_pext_u64(_bzhi_u64(word, 8 * size), 0x7f7f7f7f7f7f7f7f));
      start = last + 1;
    }
    at += start;
    if (start != 0) continue;
    std::uint64_t value;  // a long one
    if (!read_varint(at, end, value)) return false;
    values[count++] = static_cast<std::int64_t>(value);
  }
#endif
  for (std::uint64_t value; at < end;) {
    if (!read_varint(at, end, value)) return false;
    values[count++] = static_cast<std::int64_t>(value);
  }
  out.resize(count);
  return true;
}

/// Finds the end of the bytes behind `tag` and a length.
inline bool read_length(const Byte*& at, const Byte* end, Byte tag, const Byte*& to) {
  std::uint64_t size;
  if (at >= end || *at++ != tag || !read_varint(at, end, size)) return false;
  if (size > static_cast<std::uint64_t>(end - at)) return false;
  to = at + size;
  return true;
}

bool append_floats(PlainColumn& column, const Byte* at, const Byte* to) {
  const Byte* last;
  if (!read_length(at, to, 0x0a, last) || (last - at) % 4 != 0) return false;
  if (last - at == 4) {
    float value;
    std::memcpy(&value, at, 4);
    column.floats.push_back(value);
    return true;
  }
  const std::size_t count = column.floats.size();
  column.floats.resize(count + static_cast<std::size_t>(last - at) / 4);
  std::memcpy(&column.floats[count], at, static_cast<std::size_t>(last - at));
  return true;
}

bool append_value(PlainColumn& column, const Byte* at, const Byte* end) {
  const Byte* to;
  if (!read_length(at, end, static_cast<Byte>(column.kind), to)) return false;
  const Byte* last;
  switch (column.kind) {
    case Kind::bytes:
      for (; at < to; at = last) {
        if (!read_length(at, to, 0x0a, last)) return false;
        column.bytes.emplace_back(reinterpret_cast<const char*>(at),
                                  static_cast<std::size_t>(last - at));
      }
      return true;
    case Kind::floats:
      return append_floats(column, at, to);
    case Kind::integers:
      if (!read_length(at, to, 0x0a, last)) return false;
      if (last - at == 1 && *at < 0x80) {
        column.integers.push_back(*at);
        return true;
      }
      return append_packed(at, last, column.integers);
  }
  return false;
}

/// Rows of one size, in which each bytes value has its place.
class ByteRows {
 public:
  void add(std::string_view value) {
    const std::size_t row_bytes = (value.size() + kLineBytes - 1) / kLineBytes * kLineBytes;
    if (row_bytes > row_bytes_) {
      row_bytes_ = row_bytes;
      rows_.resize(kBatches * kRowsPerBatch * row_bytes_ + kLineBytes);
    }
    const std::size_t lead = 0 - reinterpret_cast<std::uintptr_t>(rows_.data()) % kLineBytes;
    Byte* const to = rows_.data() + lead % kLineBytes + next_ * row_bytes_;
    copy(to, reinterpret_cast<const Byte*>(value.data()), value.size());
    next_ = next_ + 1 == kBatches * kRowsPerBatch ? 0 : next_ + 1;
  }

 private:
  static constexpr std::size_t kLineBytes = 64;

  static void copy(Byte* to, const Byte* from, std::size_t size) {
    std::size_t at = 0;
#if defined(__SSE2__)
    for (; at + sizeof(__m128i) <= size; at += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    }
#endif
    std::memcpy(to + at, from + at, size - at);
  }

  std::vector<Byte> rows_;
  std::size_t row_bytes_ = 0;
  std::size_t next_ = 0;
};

class PlainParser {
 public:
  explicit PlainParser(LoopBytes bytes) : copies_bytes_(bytes == LoopBytes::copied) {}

  /// Record 0 makes the columns.
  bool parse(const Byte* at, const Byte* end) {
    const Byte *features, *entry, *key, *value;
    if (!read_length(at, end, 0x0a, features)) return false;
    const bool learns = columns_.empty() || is_learning_;
    is_learning_ = learns;
    while (at < features) {
      if (!read_length(at, features, 0x0a, entry)) return false;
      if (!read_length(at, entry, 0x0a, key)) return false;
      const std::string_view name(reinterpret_cast<const char*>(at),
                                  static_cast<std::size_t>(key - at));
      at = key;
      if (!read_length(at, entry, 0x12, value)) return false;
      if (learns) columns_.push_back({std::string(name), static_cast<Kind>(*at), {}, {}, {}});
      std::size_t index = learns ? columns_.size() - 1 : next_;
      for (std::size_t tries = 0; !is_named(columns_[index], name);) {
        index = index + 1 == columns_.size() ? 0 : index + 1;
        if (++tries > columns_.size()) return false;
      }
      next_ = index + 1 == columns_.size() ? 0 : index + 1;
      if (!append_value(columns_[index], at, value)) return false;
      if (copies_bytes_ && columns_[index].kind == Kind::bytes) {
        rows_.add(columns_[index].bytes.back());
      }
      at = entry;
    }
    is_learning_ = false;
    return true;
  }
  void clear() {
    for (PlainColumn& column : columns_) {
      column.bytes.clear();
      column.floats.clear();
      column.integers.clear();
    }
  }

 private:
  static bool is_named(const PlainColumn& column, std::string_view name) {
    return column.name.size() == name.size() &&
           std::memcmp(column.name.data(), name.data(), name.size()) == 0;
  }

  const bool copies_bytes_;
  ByteRows rows_;
  std::vector<PlainColumn> columns_;
  std::size_t next_ = 0;  // the expected column if this record has the last one's order
  bool is_learning_ = false;
};

std::uint32_t plain_crc32c(const Byte* at, std::size_t size) {
#if defined(__SSE4_2__)
  if (size < 256) {
    std::uint64_t crc = ~std::uint32_t{0};
    std::uint64_t word;
    for (; size >= 8; size -= 8, at += 8) {
      std::memcpy(&word, at, 8);
      crc = __builtin_ia32_crc32di(crc, word);
    }
    while (size-- != 0) crc = __builtin_ia32_crc32qi(static_cast<std::uint32_t>(crc), *at++);
    return ~static_cast<std::uint32_t>(crc);
  }
#endif
  return ~crc32_iscsi(const_cast<Byte*>(at), static_cast<int>(size), ~0U);
}

bool is_intact(const Byte* at, std::size_t size, const Byte* stored) {
  const std::uint32_t crc = plain_crc32c(at, size);
  std::uint32_t masked;
  std::memcpy(&masked, stored, 4);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U == masked;
}

/// Frames and parses whole records of [at, end); returns where the rest begins.
const Byte* parse_records(const Byte* at, const Byte* end, PlainParser& parser,
                          std::uint64_t& records) {
  while (end - at >= 16) {
    std::uint64_t size;
    std::memcpy(&size, at, 8);
    if (!is_intact(at, 8, at + 8)) throw std::runtime_error("plain loop: a length is damaged");
    if (size + 16 > static_cast<std::uint64_t>(end - at)) break;
    const Byte* const payload = at + 12;
    if (!is_intact(payload, size, payload + size) || !parser.parse(payload, payload + size)) {
      throw std::runtime_error("plain loop: a record is damaged");
    }
    at = payload + size + 4;
    if (++records % kRowsPerBatch == 0) parser.clear();  // the batch is complete
  }
  return at;
}

std::uint64_t parse_file(const std::string& file, std::vector<Byte>& buffer, PlainParser& parser) {
  constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error("plain loop: can't open " + file);
  std::uint64_t records = 0;
  std::size_t held = 0;
  while (true) {
    if (buffer.size() < held + kBlockBytes) buffer.resize(held + kBlockBytes);
    const ssize_t got = ::read(descriptor, buffer.data() + held, kBlockBytes);
    if (got <= 0) break;
    const Byte* const end = buffer.data() + held + got;
    const Byte* const rest = parse_records(buffer.data(), end, parser, records);
    held = static_cast<std::size_t>(end - rest);
    parser.clear();  // its views of bytes end with the block
    std::memmove(buffer.data(), rest, held);
  }
  ::close(descriptor);
  return records;
}

/// Parses files first, first + 2, ... again and again until the time is up.
double loop_rate(const std::vector<std::string>& files, std::size_t first, double seconds,
                 LoopBytes bytes) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto since = [&](auto start) {
    return std::chrono::duration<double>(now() - start).count();
  };
  PlainParser parser(bytes);
  std::vector<Byte> buffer;
  std::uint64_t records = 0;
  const auto start = now();
  while (since(start) < seconds) {
    for (std::size_t i = first; i < files.size(); i += 2) {
      records += parse_file(files[i], buffer, parser);
    }
  }
  return static_cast<double>(records) / since(start);
}

}  // namespace

double two_plain_loops_rate(const RunOptions& options, const char* kind, LoopBytes bytes) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(options.data / kind)) {
    if (entry.path().extension() == ".tfrecord") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  double other_rate = 0;
  std::thread other([&] { other_rate = loop_rate(files, 1, options.measure_seconds, bytes); });
  const double own_rate = loop_rate(files, 0, options.measure_seconds, bytes);
  other.join();
  return own_rate + other_rate;
}

}  // namespace infeed::compare
