#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

#include "codec/flush_points.h"
#include "codec/lz4_file.h"
#include "infeed/error.h"
#include "infeed/records/limits.h"
#include "parallel/segment_source.h"

namespace infeed::detail {
namespace {

bool exists(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(name, ignored);
}

/// Joins neighbouring places until a segment has `segment_bytes`.
std::vector<Segment> join(const std::vector<SegmentPlace>& places, std::uint64_t segment_bytes) {
  std::vector<Segment> segments;
  std::size_t first = 0;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const bool is_last = i + 1 == places.size();
    if (places[i].stream_offset - places[first].stream_offset < segment_bytes && !is_last) continue;
    segments.push_back({places[first].stream_offset, places[i].stream_offset,
                        places[first].file_offset, places[i].file_offset});
    first = i;
  }
  return segments;
}

/// Refuses pieces that are too long: one would lie decoded in memory before its first record is
/// handed out.
SegmentPlan read_ahead_where_too_long(SegmentPlan plan) {
  const bool are_too_long = std::ranges::any_of(plan.segments, [](const Segment& segment) {
    return segment.stream_end - segment.stream_begin > limits::segment_bytes;
  });
  if (!are_too_long) return plan;
  return {{},
          fmt::format("one thread decodes ahead: a piece of it is longer than {} bytes",
                      limits::segment_bytes)};
}

}  // namespace

SegmentPlan plan_segments(const std::string& file, Compression compression,
                          std::uint64_t segment_bytes) {
  const std::string ahead = "one thread decodes ahead";
  try {
    if (compression == Compression::lz4) {
      const auto places = read_lz4_places(*open_input_file(file));
      return read_ahead_where_too_long(
          {join(places, segment_bytes), "split by the index of its blocks"});
    }
    if (compression == Compression::gzip) {
      if (!exists(flush_points_name(file))) {
        return {{}, fmt::format("{}: '{}' is not there", ahead, flush_points_name(file))};
      }
      return read_ahead_where_too_long(
          {join(read_flush_points(file), segment_bytes), "split at its flush points"});
    }
  } catch (const Error& error) {
    return {{}, fmt::format("{}: {}", ahead, error.message())};
  }
  return {{}, fmt::format("{}: a {} file can't be split", ahead, to_string(compression))};
}

}  // namespace infeed::detail
