#include "tfrecord/resynchronise.h"

#include <string_view>

#include "infeed/error.h"
#include "io/little_endian.h"
#include "tfrecord/framing.h"

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

void RecordSearch::resynchronise(StreamWindow& window) {
  window.consume(1);
  find_record(window, {});
}

bool RecordSearch::find_record(StreamWindow& window, const Limits& limits) {
  while (window.offset() < limits.offset_end && window.ensure(kFramingBytes)) {
    if (stop_.stop_requested()) {
      throw Error(ErrorCode::cancelled, "stopped before the file was read");
    }
    const std::size_t found = find_header(window.data(), window.size(), record_bytes_max_);
    if (found == window.size()) {
      window.consume(window.size() - (kHeaderBytes - 1));
      continue;
    }
    window.consume(found);
    const std::uint64_t length = load_header(window.data()).length;
    if (length > limits.record_bytes) return false;
    const auto remaining = window.remaining_bytes();
    const bool can_be = !remaining || *remaining >= kFramingBytes + length;
    if (can_be && window.ensure(kFramingBytes + length) &&
        is_payload_valid({window.data() + kHeaderBytes, length}, window.offset() + kHeaderBytes)) {
      return true;
    }
    window.consume(1);
  }
  window.consume(window.size());
  return true;
}

}  // namespace infeed::detail
