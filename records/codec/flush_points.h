#pragma once

#include <string>
#include <vector>

#include "infeed/records/record_writer.h"
#include "parallel/segment_place.h"

/// The file beside a gzip file that says where decoding can begin; flush_points_format.md has every
/// byte.
namespace infeed::detail {

inline constexpr std::uint64_t kGzipHeaderBytes = 10;
/// CRC-32 and size of the stream, at the end of the file.
inline constexpr std::uint64_t kGzipTrailerBytes = 8;

std::string flush_points_name(const std::string& data_file);

/// `places` ends with the place behind the last segment.
void write_flush_points(const std::vector<SegmentPlace>& places, const std::string& data_file,
                        Durability durability);

/// Throws Error: not_found, data_loss when it is damaged, failed_precondition when it does not
/// belong to the data file as it is now.
std::vector<SegmentPlace> read_flush_points(const std::string& data_file);

}  // namespace infeed::detail
