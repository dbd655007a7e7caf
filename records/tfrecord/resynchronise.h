#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <utility>

#include "io/range_crcs.h"
#include "io/stream_window.h"
#include "tfrecord/framing.h"

/// Finding the next record after damage. A length and its checksum match by chance once in 2^32
/// offsets, a payload's as well: both together never do in practice, and a tail of zeros never
/// looks like a record.
namespace infeed::detail {

/// First offset in [data, data + size) where 12 bytes are a valid header of a record of at most
/// `record_bytes_max`; `size` when there is none.
std::size_t find_header(const char* data, std::size_t size, std::uint64_t record_bytes_max);

/// The length of the record at the front can be trusted but its payload can't. Passes over exactly
/// this record when a valid header, or the end, follows it; false (nothing is consumed) otherwise.
bool step_to_next_header(StreamWindow& window);

/// Searches one stream again and again. Headers in it may lie (range_crcs.h): whatever they claim,
/// a byte is hashed a limited number of times, over all searches.
class RecordSearch {
 public:
  /// A search through a large file that holds no record goes on for minutes: after a stop request it
  /// throws cancelled.
  explicit RecordSearch(std::uint64_t record_bytes_max, std::stop_token stop = {})
      : record_bytes_max_(record_bytes_max), stop_(std::move(stop)) {}

  /// Passes over at least one byte, up to the next whole and valid record, or to the end.
  void resynchronise(StreamWindow& window);

  /// Returns the CRC-32C of a payload that lies at `offset` of the stream.
  std::uint32_t payload_crc32c(std::string_view payload, std::uint64_t offset) {
    return crcs_.crc32c_of(payload, offset);
  }
  /// `payload` is followed in memory by its footer.
  bool is_payload_valid(std::string_view payload, std::uint64_t offset) {
    return stored_payload_crc(payload) == mask_crc32c(payload_crc32c(payload, offset));
  }
  /// Whether bytes from the front of the window on were hashed for a header that may have lied, so
  /// that those behind it may, too.
  bool is_suspicious(const StreamWindow& window) const {
    return window.offset() < crcs_.known_until();
  }
  std::uint64_t bytes_hashed() const { return crcs_.bytes_hashed(); }

 private:
  const std::uint64_t record_bytes_max_;
  const std::stop_token stop_;
  RangeCrcs crcs_;
};

}  // namespace infeed::detail
