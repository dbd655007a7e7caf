#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "stream_window.h"

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

/// Consumes nothing when a whole and valid record is at the front, else up to the next one. When
/// none begins before `offset_end` of the stream, somewhere behind it or at the end.
void find_record(StreamWindow& window, std::uint64_t record_bytes_max,
                 std::uint64_t offset_end = std::numeric_limits<std::uint64_t>::max());

/// The same, passing over at least one byte.
void resynchronise(StreamWindow& window, std::uint64_t record_bytes_max);

}  // namespace infeed::detail
