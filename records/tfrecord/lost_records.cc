#include "infeed/records/lost_records.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "codec/flush_points.h"
#include "codec/lz4_file.h"
#include "infeed/records/files.h"
#include "io/input_file.h"
#include "io/little_endian.h"
#include "tfrecord/index_header.h"

namespace infeed {
namespace {

/// NAME.index where it lies: a whole one may be larger than what a pipeline may hold, and a few of
/// its numbers say all.
class IndexOnDisk {
 public:
  /// Nothing when there is none of a file of this size.
  static std::optional<IndexOnDisk> open(const std::string& file, std::uint64_t file_bytes) {
    const std::string name = file + ".index";
    std::error_code ignored;
    if (is_url(file) || !std::filesystem::exists(name, ignored)) return std::nullopt;
    IndexOnDisk index(detail::open_input_file(name));
    const auto header = detail::read_index_header(*index.file_);
    if (!header || header->file_bytes != file_bytes) return std::nullopt;
    index.file_bytes_ = file_bytes;
    index.count_ = header->count;
    return index;
  }

  /// Returns where a record's header begins; the end of the file behind the last one.
  std::uint64_t offset(std::uint64_t record) const {
    if (record >= count_) return file_bytes_;
    std::array<char, 8> bytes{};
    file_->read_at(detail::kIndexHeaderBytes + bytes.size() * record, bytes);
    return detail::load_little<std::uint64_t>(bytes.data());
  }
  /// The first record that begins at `offset` or behind it.
  std::uint64_t first_from(std::uint64_t offset) const {
    std::uint64_t first = 0;
    std::uint64_t last = count_;
    while (first < last) {
      const std::uint64_t middle = first + (last - first) / 2;
      if (this->offset(middle) < offset) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

 private:
  explicit IndexOnDisk(std::unique_ptr<detail::InputFile> file) : file_(std::move(file)) {}

  std::unique_ptr<detail::InputFile> file_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t count_ = 0;
};

Lost rest_of_plain(const std::string& file, std::optional<std::uint64_t> file_bytes,
                   RecordPosition position) {
  if (!file_bytes || *file_bytes < position.offset) return {};
  Lost lost{.bytes = *file_bytes - position.offset};
  const auto records = count_records_between(file, *file_bytes, position.offset, *file_bytes);
  if (records && *records > 0) lost.records = *records - 1;
  return lost;
}

/// The last place is the end of the stream.
Lost rest_of_places(const std::vector<detail::SegmentPlace>& places, RecordPosition position) {
  const detail::SegmentPlace& end = places.back();
  if (end.first_record <= position.record || end.stream_offset < position.offset) return {};
  return {.records = end.first_record - position.record - 1,
          .bytes = end.stream_offset - position.offset};
}

}  // namespace

std::optional<std::uint64_t> count_records_between(const std::string& file,
                                                   std::uint64_t file_bytes, std::uint64_t begin,
                                                   std::uint64_t end) {
  try {
    const auto index = IndexOnDisk::open(file, file_bytes);
    if (!index) return std::nullopt;
    const std::uint64_t first = index->first_from(begin);
    if (index->offset(first) != begin) return std::nullopt;
    return index->first_from(end) - first;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Lost count_rest(const std::string& file, Compression compression,
                std::optional<std::uint64_t> file_bytes, RecordPosition position) {
  if (compression == Compression::none) return rest_of_plain(file, file_bytes, position);
  if (is_url(file)) return {};
  try {
    if (compression == Compression::lz4) {
      return rest_of_places(detail::read_lz4_places(*detail::open_input_file(file)), position);
    }
    if (compression == Compression::gzip) {
      return rest_of_places(detail::read_flush_points(file), position);
    }
  } catch (const Error&) {
    return {};
  }
  return {};
}

std::uint64_t records_numbered_as_lost(std::span<const DamagedRange> damaged) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      damaged, [](const DamagedRange& range) { return range.begin != range.end; }));
}

}  // namespace infeed
