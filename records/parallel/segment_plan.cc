#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

#include "codec/flush_points.h"
#include "codec/lz4_file.h"
#include "infeed/error.h"
#include "infeed/records/limits.h"
#include "infeed/records/record_index.h"
#include "io/file_ends.h"
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

/// True if a segment of known length is too long. The last segment of a plain file ends at `size`.
bool are_too_long(const SegmentPlan& plan, std::uint64_t size) {
  return std::ranges::any_of(plan.segments, [size](const Segment& segment) {
    const std::uint64_t end = segment.stream_end == Segment::kToEnd ? size : segment.stream_end;
    return end > segment.stream_begin && end - segment.stream_begin > limits::segment_bytes;
  });
}

SegmentPlan plan_by_guess(std::uint64_t size, std::uint64_t segment_bytes, std::string reason) {
  SegmentPlan plan{{}, std::move(reason)};
  for (std::uint64_t at = 0; at < size; at += segment_bytes) {
    plan.segments.push_back(
        {.stream_begin = at, .stream_end = at + segment_bytes, .is_guess = at != 0});
  }
  if (!plan.segments.empty()) plan.segments.back().stream_end = Segment::kToEnd;
  return plan;
}

SegmentPlan plan_plain(const std::string& file, std::uint64_t segment_bytes) {
  const auto size = File::open_to_read(file).size_bytes();
  if (!size) return {{}, "a pipe can't be split"};
  const std::string index_file = file + ".index";
  if (!exists(index_file)) {
    return plan_by_guess(*size, segment_bytes, "split where records are found");
  }
  try {
    const RecordIndex index = read_index(index_file);
    require_index_of(index, file);
    SegmentPlan plan{{}, "split by the index"};
    for (std::uint64_t begin = 0; begin < *size;) {
      const auto end = std::lower_bound(index.offsets.begin(), index.offsets.end(),
                                        std::min(begin + segment_bytes, *size));
      plan.segments.push_back({.stream_begin = begin, .stream_end = *end});
      begin = *end;
    }
    if (!plan.segments.empty()) plan.segments.back().stream_end = Segment::kToEnd;
    if (!are_too_long(plan, *size)) return plan;
    return plan_by_guess(
        *size, segment_bytes,
        fmt::format("split where records are found, because its index has a piece of more than {} "
                    "bytes",
                    limits::segment_bytes));
  } catch (const Error& error) {
    return plan_by_guess(
        *size, segment_bytes,
        fmt::format("split where records are found, because its index can't be used: {}",
                    error.message()));
  }
}

/// Refuses pieces that are too long: one would lie decoded in memory before its first record is
/// handed out.
SegmentPlan read_ahead_where_too_long(SegmentPlan plan) {
  if (!are_too_long(plan, 0)) return plan;
  return {{},
          fmt::format("one thread decodes ahead: a piece of it is longer than {} bytes",
                      limits::segment_bytes)};
}

}  // namespace

SegmentPlan plan_segments(const std::string& file, Compression compression,
                          std::uint64_t segment_bytes) {
  if (compression == Compression::none) return plan_plain(file, segment_bytes);
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
