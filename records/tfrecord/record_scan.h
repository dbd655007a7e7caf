#pragma once

#include <cstdint>
#include <span>

#include "infeed/records/record.h"
#include "io/stream_window.h"
#include "tfrecord/framing.h"
#include "tfrecord/resynchronise.h"

/// Cutting a window into records: the hot loop of every reader.
namespace infeed::detail {

/// Why there is no record at the front of the window.
enum class Stop { none, needs_bytes, bad_length, bad_payload };

struct Scan {
  std::size_t count;
  Stop stop;
  std::uint64_t bytes_hashed;  ///< not counting those that ScanOptions::search hashed
};

struct ScanOptions {
  bool verifies_payloads;
  std::uint64_t record_bytes_max;
  /// Where headers may lie; null: they are trusted.
  RecordSearch* search = nullptr;
};

/// Hands out the whole records in the window, numbered from `number`.
inline Scan scan_window(StreamWindow& window, std::span<Record> out, std::uint64_t number,
                        const ScanOptions& options) {
  const char* at = window.data();
  std::size_t left = window.size();
  std::size_t count = 0;
  std::uint64_t bytes_lost = 0;
  Stop stop = Stop::none;
  Block* const block = window.block();
  while (count < out.size()) {
    stop = Stop::needs_bytes;
    if (left < kFramingBytes) break;
    const Header header = load_header(at);
    if (!header.is_valid()) {
      stop = Stop::bad_length;
      break;
    }
    if (header.length > left - kFramingBytes || header.length > options.record_bytes_max) break;
    const std::string_view payload(at + kHeaderBytes, header.length);
    if (options.verifies_payloads) {
      const std::uint64_t offset = window.offset() + static_cast<std::uint64_t>(at - window.data());
      const bool is_valid = options.search == nullptr
                                ? payload_is_valid(payload)
                                : options.search->is_payload_valid(payload, offset + kHeaderBytes);
      if (!is_valid) {
        stop = Stop::bad_payload;
        bytes_lost = payload.size();
        break;
      }
    }
    out[count] = Record::adopt(block, payload, number + count);
    ++count;
    at += kFramingBytes + header.length;
    left -= kFramingBytes + header.length;
  }
  // One locked addition for all of them; the window's own reference keeps the block until here.
  if (count != 0) block->references.fetch_add(count, std::memory_order_relaxed);
  const std::size_t consumed = window.size() - left;
  window.consume(consumed);
  const bool is_hashed = options.verifies_payloads && options.search == nullptr;
  return {count, stop, is_hashed ? consumed - count * kFramingBytes + bytes_lost : 0};
}

}  // namespace infeed::detail
