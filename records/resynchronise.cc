#include "resynchronise.h"

#include <algorithm>
#include <string_view>

#include "framing.h"

namespace infeed::detail {

std::size_t find_header(const char* data, std::size_t size, std::uint64_t record_bytes_max) {
  if (size < kHeaderBytes) return size;
  // Nearly every offset falls at the first test: the upper half of a length is zero.
  const std::uint64_t upper_max = record_bytes_max >> 32;
  const std::size_t last = size - kHeaderBytes;
  for (std::size_t at = 0; at <= last; ++at) {
    if (load_little<std::uint32_t>(data + at + 4) > upper_max) continue;
    const Header header = load_header(data + at);
    if (header.is_valid() && header.length <= record_bytes_max) return at;
  }
  return size;
}

bool step_to_next_header(StreamWindow& window) {
  const std::size_t whole = kFramingBytes + load_header(window.data()).length;
  if (!window.ensure(whole + kHeaderBytes)) {
    if (window.size() != whole) return false;
  } else if (!load_header(window.data() + whole).is_valid()) {
    return false;
  }
  window.consume(whole);
  return true;
}

void resynchronise(StreamWindow& window, std::uint64_t record_bytes_max) {
  window.consume(1);
  find_record(window, record_bytes_max);
}

void find_record(StreamWindow& window, std::uint64_t record_bytes_max, std::uint64_t offset_end) {
  while (window.offset() < offset_end && window.ensure(kFramingBytes)) {
    const std::size_t found = find_header(window.data(), window.size(), record_bytes_max);
    if (found == window.size()) {
      window.consume(window.size() - (kHeaderBytes - 1));
      continue;
    }
    window.consume(found);
    const std::uint64_t length = load_header(window.data()).length;
    const auto remaining = window.remaining_bytes();
    const bool can_be = !remaining || *remaining >= kFramingBytes + length;
    if (can_be && window.ensure(kFramingBytes + length) &&
        payload_is_valid({window.data() + kHeaderBytes, length})) {
      return;
    }
    window.consume(1);
  }
  window.consume(window.size());
}

}  // namespace infeed::detail
