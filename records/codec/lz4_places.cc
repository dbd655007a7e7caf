#include <fmt/format.h>

#include "codec/lz4_file.h"
#include "codec/lz4_layout.h"
#include "infeed/error.h"
#include "io/file_ends.h"
#include "io/little_endian.h"

namespace infeed::detail {
namespace {

std::string read_part(const InputFile& file, std::uint64_t offset, std::uint64_t bytes) {
  std::string part(bytes, '\0');
  part.resize(file.read_at(offset, part));
  return part;
}

}  // namespace

std::vector<SegmentPlace> read_lz4_places(const InputFile& file) {
  const auto require = [&file](bool holds, std::string_view what) {
    if (holds) return;
    throw Error(ErrorCode::data_loss, fmt::format("the lz4 file is damaged: {}", what))
        .at_file(file.name());
  };
  constexpr std::size_t kLeastBytes =
      kLz4FileHeaderBytes + Lz4BlockHeader::kBytes + kLz4TrailerBytes;
  const std::uint64_t size = require_regular(file);
  require(size >= kLeastBytes, "it is cut");
  const std::string header = read_part(file, 0, kLz4FileHeaderBytes);
  require(header.size() == kLz4FileHeaderBytes && header.starts_with(kLz4Magic) &&
              load_little<std::uint32_t>(header.data() + 8) == kLz4Version &&
              load_little<std::uint32_t>(header.data() + 12) ==
                  mask_crc32c(crc32c({header.data(), 12})),
          "the file's header");
  const std::string trailer = read_part(file, size - kLz4TrailerBytes, kLz4TrailerBytes);
  require(trailer.size() == kLz4TrailerBytes && trailer.ends_with(kLz4TrailerMagic),
          "the end of its index is missing");
  const auto count = load_little<std::uint64_t>(trailer.data());
  require(count <= (size - kLeastBytes) / SegmentPlace::kBytes, "the count in its index");
  const std::uint64_t index_offset = size - kLz4TrailerBytes - count * SegmentPlace::kBytes;
  const std::string index =
      read_part(file, index_offset, count * SegmentPlace::kBytes) + trailer.substr(0, 8);
  require(load_little<std::uint32_t>(trailer.data() + 8) == mask_crc32c(crc32c(index)),
          "the checksum of its index");
  const std::string end =
      read_part(file, index_offset - Lz4BlockHeader::kBytes, Lz4BlockHeader::kBytes);
  const auto mark =
      end.size() == Lz4BlockHeader::kBytes ? Lz4BlockHeader::load(end.data()) : std::nullopt;
  require(mark && mark->is_end_mark(), "its end mark");
  std::vector<SegmentPlace> places;
  for (std::uint64_t i = 0; i < count; ++i) {
    places.push_back(SegmentPlace::load(index.data() + i * SegmentPlace::kBytes));
  }
  places.push_back(
      {index_offset - Lz4BlockHeader::kBytes, mark->stream_offset, mark->first_record});
  for (std::size_t i = 1; i < places.size(); ++i) {
    require(places[i - 1].may_precede(places[i]), "the order of its index");
  }
  require(places[0].file_offset == kLz4FileHeaderBytes && places[0].stream_offset == 0,
          "the begin of its index");
  return places;
}

}  // namespace infeed::detail
