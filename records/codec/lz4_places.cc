#include <fmt/format.h>

#include "codec/lz4_file.h"
#include "codec/lz4_layout.h"
#include "infeed/error.h"
#include "io/file_ends.h"
#include "io/little_endian.h"
#include "tfrecord/framing.h"

namespace infeed::detail {

std::vector<SegmentPlace> find_lz4_places(std::uint64_t size, const ReadPart& read_part) {
  const auto require = [](bool holds, std::string_view what) {
    if (!holds) throw StreamDamage{fmt::format("the lz4 file can't be split: {}", what)};
  };
  constexpr std::size_t kBytesMin =
      kLz4FrameHeader.size() + kLz4BlockHeaderBytes + kSkippableHeaderBytes + kLz4IndexBytesMin;
  constexpr std::string_view kNoIndex = "it does not end with an index of ours";
  require(size >= kBytesMin, kNoIndex);
  const std::string trailer = read_part(size - kLz4TrailerBytes, kLz4TrailerBytes);
  require(trailer.size() == kLz4TrailerBytes && trailer.ends_with(kLz4TrailerMagic), kNoIndex);
  const auto count = load_little<std::uint64_t>(trailer.data());
  require(count <= (size - kBytesMin) / SegmentPlace::kBytes, "the count in its index");
  const std::uint64_t index_bytes = count * SegmentPlace::kBytes + kLz4IndexBytesMin;
  const std::uint64_t end_mark = size - index_bytes - kSkippableHeaderBytes - kLz4BlockHeaderBytes;
  const std::string end = read_part(end_mark, size - end_mark - 12);  // the checksum's reach
  require(end.size() == size - end_mark - 12, "the index at its end");
  require(load_little<std::uint32_t>(end.data()) == 0, "its end mark");
  const char* const frame = end.data() + kLz4BlockHeaderBytes;
  require(load_little<std::uint32_t>(frame) == kLz4IndexMagic &&
              load_little<std::uint32_t>(frame + 4) == index_bytes,
          "the frame of its index");
  const char* const index = frame + kSkippableHeaderBytes;
  require(
      load_little<std::uint32_t>(trailer.data() + 8) ==
          mask_crc32c(crc32c({index, static_cast<std::size_t>(end.data() + end.size() - index)})),
      "the checksum of its index");
  std::vector<SegmentPlace> places;
  for (std::uint64_t i = 0; i <= count; ++i) {
    places.push_back(SegmentPlace::load(index + i * SegmentPlace::kBytes));
  }
  for (std::size_t i = 1; i < places.size(); ++i) {
    require(places[i - 1].may_precede(places[i]), "the order of its index");
  }
  require(places.front() == SegmentPlace{kLz4FrameHeader.size(), 0, 0} &&
              places.back().file_offset == end_mark,
          "its index describes other blocks");
  return places;
}

std::vector<SegmentPlace> read_lz4_places(const InputFile& file) {
  const auto read_part = [&file](std::uint64_t offset, std::uint64_t bytes) {
    std::string part(bytes, '\0');
    part.resize(file.read_at(offset, part));
    return part;
  };
  try {
    auto places = find_lz4_places(require_regular(file), read_part);
    if (read_part(0, kLz4FrameHeader.size()) == kLz4FrameHeader) return places;
    throw StreamDamage{"the lz4 file can't be split: its frame's header"};
  } catch (const StreamDamage& damage) {
    throw Error(ErrorCode::data_loss, damage.message).at_file(file.name());
  }
}

}  // namespace infeed::detail
