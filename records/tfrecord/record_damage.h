#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "infeed/error.h"
#include "infeed/records/record_reader.h"
#include "tfrecord/framing.h"

/// The one place that says what is wrong with records that are damaged or cut.
namespace infeed::detail {

/// The record at `position` is lost.
Error lost_record(const std::string& file, RecordPosition position, std::string what);

std::string describe_cut_header(std::uint64_t bytes_there);
std::string describe_cut(const Frame& frame, std::uint64_t bytes_there);
std::string describe_too_long(const Frame& frame, std::uint64_t record_bytes_max);
/// The header at `at` is in memory.
std::string describe_bad_length(const char* at);
/// `payload`, which is followed in memory by its footer, has another checksum: `crc`.
std::string describe_bad_payload(std::string_view payload, std::uint32_t crc);

/// For readers that are told where records lie: the payload of the record that takes all of
/// [at, at + bytes). Throws lost_record() where there is none, or its checksum is another one.
std::string_view require_record(const char* at, std::uint64_t bytes, Verify verify,
                                const std::string& file, RecordPosition position);

}  // namespace infeed::detail
