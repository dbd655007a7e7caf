#include "codec/gzip_header.h"

#include <algorithm>
#include <isa-l/crc.h>

namespace infeed::detail {
namespace {

constexpr std::uint8_t kHasChecksum = 0x02;
constexpr std::uint8_t kHasExtra = 0x04;
constexpr std::uint8_t kHasName = 0x08;
constexpr std::uint8_t kHasComment = 0x10;
constexpr std::uint8_t kReserved = 0xe0;

}  // namespace

std::size_t GzipHeader::take(std::span<const std::uint8_t> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !is_over() && fault_.empty()) {
    const auto rest = bytes.subspan(taken);
    const bool is_summed = part_ != Part::fixed && part_ != Part::checksum;
    const std::size_t count = take_of_part(rest);
    if (is_summed) add_to_sum(rest.first(count));
    taken += count;
  }
  return taken;
}

std::size_t GzipHeader::take_of_part(std::span<const std::uint8_t> bytes) {
  switch (part_) {
    case Part::fixed:
      return take_fixed(bytes);
    case Part::extra_bytes:
    case Part::checksum:
      take_number(bytes.front());
      return 1;
    case Part::extra:
      return take_extra(bytes.size());
    case Part::name:
    case Part::comment:
      return take_text(bytes);
    case Part::none:
      break;
  }
  return 0;
}

std::size_t GzipHeader::take_fixed(std::span<const std::uint8_t> bytes) {
  const std::size_t count = std::min(bytes.size(), fixed_.size() - taken_);
  std::copy_n(bytes.begin(), count, fixed_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ += count;
  if (fixed_[0] != 0x1f || (taken_ > 1 && fixed_[1] != 0x8b)) {
    fault_ = "its header is invalid";
  } else if (taken_ > 2 && fixed_[2] != 8) {
    fault_ = "its header names an unknown method (only deflate exists)";
  } else if (taken_ > 3 && (flags() & kReserved) != 0) {
    fault_ = "its header has reserved flags set";
  } else if (taken_ == fixed_.size()) {
    add_to_sum(fixed_);
    end_part();
  }
  return count;
}

/// Few headers have one, and to sum each up took a third of the time of a small member.
void GzipHeader::add_to_sum(std::span<const std::uint8_t> bytes) {
  if (has(Part::checksum)) crc_ = crc32_gzip_refl(crc_, bytes.data(), bytes.size());
}

void GzipHeader::take_number(std::uint8_t byte) {
  // Little-endian.
  number_ = static_cast<std::uint16_t>(taken_ == 0 ? byte : number_ | byte << 8);
  if (++taken_ < sizeof(number_)) return;
  if (part_ == Part::checksum && number_ != static_cast<std::uint16_t>(crc_)) {
    fault_ = "the checksum of its header does not match";
  }
  end_part();
}

std::size_t GzipHeader::take_extra(std::size_t bytes) {
  const std::size_t count = std::min(bytes, number_ - taken_);
  taken_ += count;
  if (taken_ == number_) end_part();
  return count;
}

/// A text ends with a byte of 0, which is its own.
std::size_t GzipHeader::take_text(std::span<const std::uint8_t> bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), std::uint8_t{0});
  if (end == bytes.end()) return bytes.size();
  end_part();
  return static_cast<std::size_t>(end - bytes.begin()) + 1;
}

void GzipHeader::end_part() {
  taken_ = 0;
  do {
    part_ = static_cast<Part>(static_cast<int>(part_) + 1);
  } while (!has(part_));
}

bool GzipHeader::has(Part part) const {
  switch (part) {
    case Part::extra_bytes:
      return (flags() & kHasExtra) != 0;
    case Part::extra:
      return (flags() & kHasExtra) != 0 && number_ != 0;
    case Part::name:
      return (flags() & kHasName) != 0;
    case Part::comment:
      return (flags() & kHasComment) != 0;
    case Part::checksum:
      return (flags() & kHasChecksum) != 0;
    case Part::fixed:
    case Part::none:
      break;
  }
  return true;
}

}  // namespace infeed::detail
