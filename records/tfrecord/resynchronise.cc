#include "tfrecord/resynchronise.h"

#include "infeed/error.h"
#include "io/little_endian.h"
#include "tfrecord/record_scan.h"

namespace infeed::detail {

std::size_t find_header(const char* data, std::size_t size, std::uint64_t record_bytes_max) {
  if (size < kHeaderBytes) return size;
  // Nearly every offset falls at the first test: the upper half of a length is zero.
  const std::uint64_t upper_max = record_bytes_max >> 32;
  const std::size_t last = size - kHeaderBytes;
  for (std::size_t at = 0; at <= last; ++at) {
    if (load_little<std::uint32_t>(data + at + 4) > upper_max) continue;
    const FrameState state = frame_at(data + at, size - at, record_bytes_max).state;
    if (state == FrameState::whole || state == FrameState::needs_bytes) return at;
  }
  return size;
}

bool step_to_next_header(StreamWindow& window) {
  const std::uint64_t whole = frame_at(window.data(), window.size()).bytes();
  if (!window.ensure(whole + kHeaderBytes)) {
    if (window.size() != whole) return false;
  } else if (!begins_with_record({window.data() + whole, kHeaderBytes})) {
    return false;
  }
  window.consume(whole);
  return true;
}

void RecordSearch::resynchronise(StreamWindow& window) {
  window.consume(1);
  while (window.ensure(kFramingBytes)) {
    if (stop_.stop_requested()) {
      throw Error(ErrorCode::cancelled, "stopped before the file was read");
    }
    const std::size_t found = find_header(window.data(), window.size(), record_bytes_max_);
    if (found == window.size()) {
      window.consume(window.size() - (kHeaderBytes - 1));
      continue;
    }
    window.consume(found);
    const Frame frame = frame_at(window.data(), window.size());
    if (fetch(window, frame) &&
        is_payload_valid(frame.payload(window.data()), window.offset() + kHeaderBytes)) {
      return;
    }
    window.consume(1);
  }
  window.consume(window.size());
}

}  // namespace infeed::detail
