#include "codec/flush_points.h"

#include <fmt/format.h>

#include "infeed/detail/format_version.h"
#include "infeed/error.h"
#include "infeed/records/output_file.h"
#include "io/file_ends.h"
#include "io/little_endian.h"

namespace infeed::detail {
namespace {

constexpr std::string_view kMagic = "INFEEDGZ";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytesHere = 32;
constexpr std::size_t kCrcBytes = 4;

Error damaged(const std::string& name, std::string_view what) {
  return Error(ErrorCode::data_loss,
               fmt::format("the file of flush points is damaged: {}; write the data file anew, or "
                           "remove this one",
                           what))
      .at_file(name);
}

Error foreign(const std::string& name, std::string_view what) {
  return Error(ErrorCode::failed_precondition,
               fmt::format("the flush points do not belong to the data file as it is now: {}; "
                           "write the data file anew, or remove this one",
                           what))
      .at_file(name);
}

std::vector<SegmentPlace> parse(const std::string& bytes, const std::string& name) {
  if (bytes.size() < kHeaderBytesHere + SegmentPlace::kBytes + kCrcBytes ||
      !bytes.starts_with(kMagic)) {
    throw damaged(name, fmt::format("its {} bytes do not begin as one", bytes.size()));
  }
  const std::string_view body(bytes.data(), bytes.size() - kCrcBytes);
  const auto version = load_little<std::uint32_t>(bytes.data() + 8);
  if (version > kVersion) {
    throw later_format("the file of flush points", version, kVersion,
                       "remove this file: the data file is whole without it")
        .at_file(name);
  }
  if (version == 0 || load_little<std::uint32_t>(body.data() + body.size()) != crc32c(body)) {
    throw damaged(name, "its checksum does not match");
  }
  const auto count = load_little<std::uint64_t>(bytes.data() + 24);
  const std::size_t places_bytes = body.size() - kHeaderBytesHere;
  if (places_bytes % SegmentPlace::kBytes != 0 ||
      count != places_bytes / SegmentPlace::kBytes - 1) {
    throw damaged(name, fmt::format("it claims {} segments", count));
  }
  std::vector<SegmentPlace> places(count + 1);
  for (std::size_t i = 0; i <= count; ++i) {
    places[i] = SegmentPlace::load(body.data() + kHeaderBytesHere + SegmentPlace::kBytes * i);
    if (i > 0 && !places[i - 1].may_precede(places[i])) {
      throw damaged(name, fmt::format("segment {} does not lie before the next", i - 1));
    }
  }
  const auto file_bytes = load_little<std::uint64_t>(bytes.data() + 16);
  if (places[0] != SegmentPlace{kGzipHeaderBytes, 0, 0} || file_bytes < kGzipTrailerBytes ||
      places[count].file_offset >= file_bytes - kGzipTrailerBytes) {
    throw damaged(name, "its segments do not fill the data file");
  }
  return places;
}

}  // namespace

std::string flush_points_name(const std::string& data_file) { return data_file + ".points"; }

void write_flush_points(const std::vector<SegmentPlace>& places, const std::string& data_file,
                        Durability durability) {
  const auto data = open_input_file(data_file);
  const std::uint64_t size = require_regular(*data);
  std::string bytes(kMagic);
  bytes.resize(kHeaderBytesHere + SegmentPlace::kBytes * places.size());
  store_little(bytes.data() + 8, kVersion);
  store_little(bytes.data() + 12, crc_of_ends(*data, size));
  store_little(bytes.data() + 16, size);
  store_little(bytes.data() + 24, std::uint64_t{places.size() - 1});
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i].store(bytes.data() + kHeaderBytesHere + SegmentPlace::kBytes * i);
  }
  const std::uint32_t crc = crc32c(bytes);
  bytes.resize(bytes.size() + kCrcBytes);
  store_little(bytes.data() + bytes.size() - kCrcBytes, crc);
  OutputFile file(flush_points_name(data_file), ExistingFile::replace, durability);
  file.write(bytes);
  file.commit();
}

std::vector<SegmentPlace> read_flush_points(const std::string& data_file) {
  const std::string name = flush_points_name(data_file);
  const std::string bytes = read_file(name);
  std::vector<SegmentPlace> places = parse(bytes, name);
  const auto data = open_input_file(data_file);
  const std::uint64_t size = require_regular(*data);
  const auto wanted = load_little<std::uint64_t>(bytes.data() + 16);
  if (size != wanted) {
    throw foreign(name, fmt::format("they are for {} bytes, it has {}", wanted, size));
  }
  if (load_little<std::uint32_t>(bytes.data() + 12) != crc_of_ends(*data, size)) {
    throw foreign(name, "the checksum of its ends is another one");
  }
  return places;
}

}  // namespace infeed::detail
