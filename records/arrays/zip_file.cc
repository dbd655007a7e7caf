#include "infeed/records/detail/zip_file.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <optional>
#include <string_view>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/limits.h"
#include "infeed/records/page_buffer.h"
#include "io/little_endian.h"

/// Sections of PKWARE's APPNOTE.TXT: 4.3.7 local header, 4.3.12 central directory, 4.3.14 ZIP64 end
/// of central directory, 4.3.16 end of central directory, 4.5.3 ZIP64 sizes.
namespace infeed::detail {
namespace {

constexpr std::uint32_t kEndMagic = 0x06054b50;
constexpr std::uint32_t kEnd64LocatorMagic = 0x07064b50;
constexpr std::uint32_t kEnd64Magic = 0x06064b50;
constexpr std::uint32_t kEntryMagic = 0x02014b50;
constexpr std::uint32_t kLocalMagic = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64LocatorBytes = 20;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::uint64_t kDirectoryBytesMax = std::uint64_t{64} << 20;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::size_t kZipStepBytes = std::size_t{1} << 20;

template <class T>
T field_at(std::string_view bytes, std::size_t at) {
  return load_little<T>(bytes.data() + at);
}

/// Takes the sizes and the place that didn't fit into an entry, in their order.
void take_zip64(std::string_view extra, ZipFile::Member& member) {
  constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;
  while (extra.size() >= 4) {
    const auto kind = field_at<std::uint16_t>(extra, 0);
    const std::size_t size = field_at<std::uint16_t>(extra, 2);
    std::string_view values = extra.substr(4, size);
    extra.remove_prefix(std::min(extra.size(), 4 + size));
    if (kind != 1) continue;
    for (std::uint64_t* const value : {&member.bytes, &member.packed_bytes, &member.header}) {
      if (*value != kElsewhere || values.size() < 8) continue;
      *value = field_at<std::uint64_t>(values, 0);
      values.remove_prefix(8);
    }
  }
}

/// Decompresses a part of a file, front to back.
class PartInflater {
 public:
  explicit PartInflater(FilePart part)
      : part_(std::move(part)), step_(std::min<std::uint64_t>(kZipStepBytes, part_.bytes + 1)) {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_DEFLATE;
  }

  /// Returns 0 at the end of the stream; empty where it is damaged or cut.
  std::optional<std::size_t> read(std::span<char> into) {
    std::size_t got = 0;
    while (got == 0 && state_.block_state != ISAL_BLOCK_FINISH) {
      if (state_.avail_in == 0) {
        const auto count = static_cast<std::size_t>(
            std::min<std::uint64_t>(step_.size(), part_.bytes - position_));
        part_.file->read_exactly(part_.begin + position_, {step_.data(), count});
        position_ += count;
        state_.next_in = reinterpret_cast<std::uint8_t*>(step_.data());
        state_.avail_in = static_cast<std::uint32_t>(count);
      }
      const bool is_last = state_.avail_in == 0;
      state_.next_out = reinterpret_cast<std::uint8_t*>(into.data());
      state_.avail_out = static_cast<std::uint32_t>(into.size());
      if (isal_inflate(&state_) != ISAL_DECOMP_OK) return std::nullopt;
      got = into.size() - state_.avail_out;
      if (is_last && got == 0 && state_.block_state != ISAL_BLOCK_FINISH) return std::nullopt;
    }
    return got;
  }

 private:
  const FilePart part_;
  const PageBuffer step_;
  std::uint64_t position_ = 0;
  inflate_state state_{};
};

std::uint32_t extend_zip_crc(std::uint32_t crc, std::span<const char> bytes) {
  return crc32_gzip_refl(crc, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

ZipFile::ZipFile(std::shared_ptr<const SeekableFile> file) : file_(std::move(file)) {
  read_directory(find_directory());
  require_apart();
}

void ZipFile::refuse(std::string_view reason, std::uint64_t offset) const {
  throw Error(ErrorCode::data_loss,
              fmt::format("this is no zip file, or it is cut or damaged: {}", reason))
      .at_file(file_->name())
      .at_offset(offset);
}

void ZipFile::fail(const Member& member, std::string_view reason) const {
  throw Error(ErrorCode::data_loss, fmt::format("member '{}' of {} bytes is damaged or cut: {}",
                                                member.name, member.bytes, reason))
      .at_file(file_->name())
      .at_offset(member.header);
}

ZipFile::Directory ZipFile::find_directory() const {
  constexpr std::size_t kCommentBytesMax = 0xFFFF;
  const std::uint64_t file_bytes = file_->size_bytes();
  std::string tail(std::min<std::uint64_t>(file_bytes, kEndBytes + kCommentBytesMax), '\0');
  const std::uint64_t tail_begin = file_bytes - tail.size();
  file_->read_exactly(tail_begin, tail);
  if (tail.size() < kEndBytes) refuse("it is too short", file_bytes);
  std::size_t at = tail.size() - kEndBytes;
  const auto is_end = [&tail](std::size_t i) {
    return field_at<std::uint32_t>(tail, i) == kEndMagic &&
           i + kEndBytes + field_at<std::uint16_t>(tail, i + 20) == tail.size();
  };
  while (!is_end(at)) {
    if (at-- == 0) refuse("its directory does not stand at its end", file_bytes);
  }
  const std::uint64_t end = tail_begin + at;
  Directory found{.begin = field_at<std::uint32_t>(tail, at + 16),
                  .bytes = field_at<std::uint32_t>(tail, at + 12),
                  .entries = field_at<std::uint16_t>(tail, at + 10)};
  std::array<char, kEnd64Bytes> other{};
  const std::string_view other_bytes(other.data(), other.size());
  if (end >= kEnd64LocatorBytes) {
    file_->read_exactly(end - kEnd64LocatorBytes, std::span(other).first(kEnd64LocatorBytes));
    if (field_at<std::uint32_t>(other_bytes, 0) == kEnd64LocatorMagic) {
      const auto end64 = field_at<std::uint64_t>(other_bytes, 8);
      if (end64 > end || end - end64 < kEnd64Bytes) refuse("its ZIP64 end lies elsewhere", end);
      file_->read_exactly(end64, other);
      if (field_at<std::uint32_t>(other_bytes, 0) != kEnd64Magic) refuse("no ZIP64 end", end64);
      found = {.begin = field_at<std::uint64_t>(other_bytes, 48),
               .bytes = field_at<std::uint64_t>(other_bytes, 40),
               .entries = field_at<std::uint64_t>(other_bytes, 32)};
    }
  }
  if (found.begin > end || found.bytes > end - found.begin) {
    refuse("its directory reaches behind its end", end);
  }
  if (found.bytes > kDirectoryBytesMax || found.entries > found.bytes / kEntryBytes) {
    refuse(fmt::format("a directory of {} members in {} bytes makes no sense", found.entries,
                       found.bytes),
           end);
  }
  return found;
}

void ZipFile::read_directory(const Directory& directory) {
  std::string bytes(static_cast<std::size_t>(directory.bytes), '\0');
  file_->read_exactly(directory.begin, bytes);
  std::string_view left = bytes;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const std::uint64_t offset = directory.begin + (bytes.size() - left.size());
    if (left.size() < kEntryBytes || field_at<std::uint32_t>(left, 0) != kEntryMagic) {
      refuse(fmt::format("member {} of {} is not in its directory", i, directory.entries), offset);
    }
    const std::size_t name_bytes = field_at<std::uint16_t>(left, 28);
    const std::size_t extra_bytes = field_at<std::uint16_t>(left, 30);
    const std::size_t comment_bytes = field_at<std::uint16_t>(left, 32);
    if (left.size() - kEntryBytes < name_bytes + extra_bytes + comment_bytes) {
      refuse(fmt::format("member {} of {} is cut", i, directory.entries), offset);
    }
    Member member{.name = std::string(left.substr(kEntryBytes, name_bytes)),
                  .method = field_at<std::uint16_t>(left, 10),
                  .is_encrypted = (field_at<std::uint16_t>(left, 8) & 1) != 0,
                  .crc = field_at<std::uint32_t>(left, 16),
                  .packed_bytes = field_at<std::uint32_t>(left, 20),
                  .bytes = field_at<std::uint32_t>(left, 24),
                  .header = field_at<std::uint32_t>(left, 42)};
    take_zip64(left.substr(kEntryBytes + name_bytes, extra_bytes), member);
    left.remove_prefix(kEntryBytes + name_bytes + extra_bytes + comment_bytes);
    if (!member.name.ends_with('/')) members_.push_back(std::move(member));
  }
}

/// Refuses members that share bytes of the file, or claim more than deflate can make of theirs. A
/// file of some KB could fill a disk otherwise, by decompressing the same bytes again and again.
void ZipFile::require_apart() const {
  std::vector<const Member*> by_place;
  for (const Member& member : members_) by_place.push_back(&member);
  std::ranges::sort(by_place, {}, &Member::header);
  std::uint64_t end = 0;
  for (const Member* const member : by_place) {
    if (member->header < end) fail(*member, "it lies within the one before it");
    const bool is_deflated = member->method == kDeflated;
    if (is_deflated && member->bytes / limits::deflate_bytes_of_byte > member->packed_bytes) {
      fail(*member, fmt::format("{} compressed bytes can't become as many", member->packed_bytes));
    }
    if (__builtin_add_overflow(member->header, kLocalBytes, &end) ||
        __builtin_add_overflow(end, member->packed_bytes, &end)) {
      break;  // behind the end of the file, as packed_part() says
    }
  }
}

FilePart ZipFile::packed_part(const Member& member) const {
  if (member.is_encrypted || (member.method != kStored && member.method != kDeflated)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("member '{}' is {}; only stored and deflated members can be read: "
                    "write the file with numpy.savez or savez_compressed",
                    member.name,
                    member.is_encrypted ? std::string("encrypted")
                                        : fmt::format("compressed by method {}", member.method)))
        .at_file(file_->name());
  }
  const std::uint64_t file_bytes = file_->size_bytes();
  if (file_bytes < kLocalBytes || member.header > file_bytes - kLocalBytes) {
    fail(member, "its header lies behind the end of the file");
  }
  std::array<char, kLocalBytes> local{};
  file_->read_exactly(member.header, local);
  const std::string_view header(local.data(), local.size());
  if (field_at<std::uint32_t>(header, 0) != kLocalMagic) fail(member, "it has no header");
  const std::uint64_t begin = member.header + kLocalBytes + field_at<std::uint16_t>(header, 26) +
                              field_at<std::uint16_t>(header, 28);
  if (begin > file_bytes || member.packed_bytes > file_bytes - begin) {
    fail(member, fmt::format("its {} bytes in the file reach behind its end", member.packed_bytes));
  }
  if (member.method == kStored && member.packed_bytes != member.bytes) {
    fail(member, fmt::format("it is stored in {} bytes", member.packed_bytes));
  }
  return {file_, begin, member.packed_bytes};
}

FilePart ZipFile::open(const Member& member, Check check) const {
  FilePart packed = packed_part(member);
  const bool is_stored = member.method == kStored;
  if (is_stored && check == Check::nothing) return packed;
  const PageBuffer step(kZipStepBytes);
  std::uint32_t crc = 0;
  std::uint64_t bytes = 0;
  if (is_stored) {
    while (bytes < packed.bytes) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(step.size(), packed.bytes - bytes));
      file_->read_exactly(packed.begin + bytes, {step.data(), count});
      crc = extend_zip_crc(crc, {step.data(), count});
      bytes += count;
    }
    if (crc != member.crc) fail(member, "its CRC-32 does not match its contents");
    return packed;
  }
  File copy = make_nameless_file(fmt::format("member '{}' of {}", member.name, file_->name()));
  PartInflater inflater(std::move(packed));
  while (true) {
    const std::optional<std::size_t> got = inflater.read(step);
    if (!got) fail(member, fmt::format("its compressed bytes make no sense behind {}", bytes));
    if (*got == 0) break;
    bytes += *got;
    if (bytes > member.bytes) fail(member, "it goes on behind them");  // no zip bomb fills the disk
    crc = extend_zip_crc(crc, {step.data(), *got});
    copy.write({step.data(), *got});
  }
  if (bytes != member.bytes) fail(member, fmt::format("it ends after {}", bytes));
  if (crc != member.crc) fail(member, "its CRC-32 does not match its contents");
  return {std::make_shared<SeekableFile>(file_->name(), std::move(copy)), 0, bytes};
}

std::string ZipFile::read_front(const Member& member, std::size_t bytes_max) const {
  FilePart packed = packed_part(member);
  std::string front(std::min<std::uint64_t>(bytes_max, member.bytes), '\0');
  if (member.method == kStored) {
    file_->read_exactly(packed.begin, front);
    return front;
  }
  PartInflater inflater(std::move(packed));
  std::size_t bytes = 0;
  while (bytes < front.size()) {
    const auto got = inflater.read(std::span(front).subspan(bytes));
    if (!got || *got == 0) fail(member, fmt::format("it ends after {}", bytes));
    bytes += *got;
  }
  return front;
}

}  // namespace infeed::detail
