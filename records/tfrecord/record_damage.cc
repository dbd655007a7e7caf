#include "tfrecord/record_damage.h"

#include <fmt/format.h>
#include <utility>

namespace infeed::detail {
namespace {

std::string count_bytes(std::uint64_t bytes) {
  return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
}

}  // namespace

Error lost_record(const std::string& file, RecordPosition position, std::string what) {
  return Error(ErrorCode::data_loss, std::move(what))
      .at_file(file)
      .at_offset(position.offset)
      .at_record(position.record);
}

std::string describe_cut_header(std::uint64_t bytes_there) {
  return fmt::format(
      "record is cut inside its header: {} of {} are there; the file was probably not written or "
      "copied to its end",
      bytes_there, count_bytes(kHeaderBytes));
}

std::string describe_cut(const Frame& frame, std::uint64_t bytes_there) {
  return fmt::format(
      "record is cut: {} of {} are there (a payload of {} and {} around it); the file was probably "
      "not written or copied to its end",
      bytes_there, count_bytes(frame.bytes()), frame.length, kFramingBytes);
}

std::string describe_too_long(const Frame& frame, std::uint64_t record_bytes_max) {
  return fmt::format(
      "record claims {}, more than record_bytes_max ({}); raise it if such records are meant to be",
      count_bytes(frame.length), record_bytes_max);
}

std::string describe_bad_length(const char* at) {
  const Header header = load_header(at);
  return fmt::format(
      "record header is damaged: its length {} has the checksum {:08x}, but {:08x} is stored",
      header.length, header.expected_crc(), header.masked_crc);
}

std::string describe_bad_payload(std::string_view payload, std::uint32_t crc) {
  return fmt::format("record is damaged: its {} have the checksum {:08x}, but {:08x} is stored",
                     count_bytes(payload.size()), mask_crc32c(crc), stored_payload_crc(payload));
}

std::string_view require_record(const char* at, std::uint64_t bytes, Verify verify,
                                const std::string& file, RecordPosition position) {
  const Frame frame = frame_at(at, bytes);
  if (!frame.is_whole() || frame.bytes() != bytes) {
    throw lost_record(
        file, position,
        fmt::format("there is no record of {} bytes at this place: the record is damaged, or the "
                    "index is another file's (infeed verify tells which)",
                    bytes - kFramingBytes));
  }
  const std::string_view payload = frame.payload(at);
  if (verify == Verify::everything && !payload_is_valid(payload)) {
    throw lost_record(
        file, position,
        fmt::format("record is damaged: its {} bytes do not have the checksum that is stored",
                    frame.length));
  }
  return payload;
}

}  // namespace infeed::detail
