#pragma once

#include <cstdint>
#include <span>

#include "infeed/records/record.h"
#include "io/stream_window.h"
#include "tfrecord/framing.h"
#include "tfrecord/resynchronise.h"

/// Cutting a window into records: the hot loop of every reader.
namespace infeed::detail {

struct Scan {
  std::size_t count;
  FrameState stop;             ///< why there is no further record at the front of the window
  std::uint64_t bytes_hashed;  ///< not counting those that ScanOptions::search hashed
};

struct ScanOptions {
  bool verifies_payloads;
  std::uint64_t record_bytes_max;
  /// Where headers may lie; null: they are trusted.
  RecordSearch* search = nullptr;
};

/// Brings the record of `frame`, which is at the front of the window, into memory. False where the
/// stream ends before, which is said before anything is read where it is known.
inline bool fetch(StreamWindow& window, const Frame& frame) {
  const auto remaining = window.remaining_bytes();
  return (!remaining || *remaining >= frame.bytes()) && window.ensure(frame.bytes());
}

/// The frame at the front of the window, of which as much is brought into memory as there is.
inline Frame fetch_frame(StreamWindow& window, std::uint64_t record_bytes_max) {
  window.ensure(kHeaderBytes);
  Frame frame = frame_at(window.data(), window.size(), record_bytes_max);
  const bool has_header = window.size() >= kHeaderBytes;
  if (frame.state == FrameState::needs_bytes && has_header && fetch(window, frame)) {
    frame.state = FrameState::whole;
  }
  return frame;
}

/// Hands out the whole records in the window, numbered from `number`.
inline Scan scan_window(StreamWindow& window, std::span<Record> out, std::uint64_t number,
                        const ScanOptions& options) {
  const char* at = window.data();
  std::size_t left = window.size();
  std::size_t count = 0;
  std::uint64_t bytes_lost = 0;
  FrameState stop = FrameState::whole;
  Block* const block = window.block();
  while (count < out.size()) {
    const Frame frame = frame_at(at, left, options.record_bytes_max);
    stop = frame.state;
    if (!frame.is_whole()) break;
    const std::string_view payload = frame.payload(at);
    if (options.verifies_payloads) {
      const std::uint64_t offset = window.offset() + static_cast<std::uint64_t>(at - window.data());
      const bool is_valid = options.search == nullptr
                                ? payload_is_valid(payload)
                                : options.search->is_payload_valid(payload, offset + kHeaderBytes);
      if (!is_valid) {
        stop = FrameState::bad_payload;
        bytes_lost = payload.size();
        break;
      }
    }
    out[count] = Record::adopt(block, payload, number + count);
    ++count;
    at += frame.bytes();
    left -= frame.bytes();
  }
  // One locked addition for all of them; the window's own reference keeps the block until here.
  if (count != 0) block->references.fetch_add(count, std::memory_order_relaxed);
  const std::size_t consumed = window.size() - left;
  window.consume(consumed);
  const bool is_hashed = options.verifies_payloads && options.search == nullptr;
  return {count, stop, is_hashed ? consumed - count * kFramingBytes + bytes_lost : 0};
}

}  // namespace infeed::detail
