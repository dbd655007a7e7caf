#include "infeed/device/event_file.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/crc32c.h>

namespace infeed {
namespace {

// Tags of protocol buffers: field number * 8 + wire type.
constexpr char kEventWallTime = 1 * 8 + 1;
constexpr char kEventStep = 2 * 8 + 0;
constexpr char kEventFileVersion = 3 * 8 + 2;
constexpr char kEventSummary = 5 * 8 + 2;
constexpr char kSummaryValue = 1 * 8 + 2;
constexpr char kValueTag = 1 * 8 + 2;
constexpr char kValueSimpleValue = 2 * 8 + 5;

template <typename Integer>
void append_little_endian(std::string& out, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
  }
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
}

void append_field(std::string& out, char tag, std::string_view bytes) {
  out.push_back(tag);
  append_varint(out, bytes.size());
  out.append(bytes);
}

std::string event_at(double wall_time_s) {
  std::string event(1, kEventWallTime);
  append_little_endian(event, std::bit_cast<std::uint64_t>(wall_time_s));
  return event;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

[[noreturn]] void fail(std::string_view action, const std::string& file, int error_number) {
  const ErrorCode code = [&] {
    switch (error_number) {
      case EACCES:
      case EPERM:
      case EROFS:
        return ErrorCode::permission_denied;
      case ENOSPC:
      case EDQUOT:
      case EMFILE:
      case ENFILE:
        return ErrorCode::resource_exhausted;
      case ENOENT:
      case ENOTDIR:
        return ErrorCode::not_found;
      default:
        return ErrorCode::unavailable;
    }
  }();
  throw Error(code, fmt::format("cannot {}: {}; give a folder on a disk with room that may be "
                                "written to",
                                action, std::generic_category().message(error_number)))
      .at_file(file);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace

EventFileWriter::EventFileWriter(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail("create the folder for event files", directory, error.value());
  const double now = now_s();
  for (int number = 0; descriptor_ < 0; ++number) {
    path_ = (std::filesystem::path(directory) / fmt::format("events.out.tfevents.{:010d}.{}.{}.{}",
                                                            static_cast<std::int64_t>(now),
                                                            host_name(), getpid(), number))
                .string();
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) fail("create the event file", path_, errno);
  }
  std::string event = event_at(now);
  append_field(event, kEventFileVersion, "brain.Event:2");
  try {
    append(event);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

EventFileWriter::~EventFileWriter() {
  if (descriptor_ >= 0) close(descriptor_);
}

EventFileWriter::EventFileWriter(EventFileWriter&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

EventFileWriter& EventFileWriter::operator=(EventFileWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void EventFileWriter::scalar(std::string_view tag, std::int64_t step, double value) {
  scalar_at(now_s(), tag, step, value);
}

void EventFileWriter::scalar_at(double wall_time_s, std::string_view tag, std::int64_t step,
                                double value) {
  std::string point;
  append_field(point, kValueTag, tag);
  point.push_back(kValueSimpleValue);
  append_little_endian(point, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  std::string summary;
  append_field(summary, kSummaryValue, point);
  std::string event = event_at(wall_time_s);
  event.push_back(kEventStep);
  append_varint(event, static_cast<std::uint64_t>(step));
  append_field(event, kEventSummary, summary);
  append(event);
}

void EventFileWriter::append(std::string_view event) {
  std::string record;
  append_little_endian(record, static_cast<std::uint64_t>(event.size()));
  append_little_endian(record, mask_crc32c(crc32c(record)));
  record.append(event);
  append_little_endian(record, mask_crc32c(crc32c(event)));
  for (std::string_view rest = record; !rest.empty();) {
    const ssize_t written = write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write to the event file", path_, errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace infeed
