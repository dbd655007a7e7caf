#include "convert/inputs/zip_members.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <zlib.h>

#include <infeed/error.h>

namespace infeed::tools {
namespace {

constexpr std::string_view kEndMagic{"PK\x05\x06", 4};
constexpr std::string_view kEnd64LocatorMagic{"PK\x06\x07", 4};
constexpr std::string_view kEnd64Magic{"PK\x06\x06", 4};
constexpr std::string_view kEntryMagic{"PK\x01\x02", 4};
constexpr std::string_view kLocalMagic{"PK\x03\x04", 4};
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64LocatorBytes = 20;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCommentBytesMax = 65'535;
constexpr std::uint64_t kDirectoryBytesMax = std::uint64_t{1} << 30;
constexpr std::uint32_t kIn64 = 0xffff'ffff;  // the number stands in the ZIP64 field

constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint16_t kEncryptedFlag = 1;

/// Little-endian; the caller has looked at the size.
template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[at + i]));
  }
  return value;
}

[[noreturn]] void fail(const SeekableFile& zip, std::uint64_t offset, std::string message) {
  throw Error(ErrorCode::data_loss, std::move(message)).at_file(zip.name()).at_offset(offset);
}

std::string read_part(const SeekableFile& zip, std::uint64_t offset, std::uint64_t bytes) {
  std::string part(bytes, '\0');
  zip.read_exactly(offset, part);
  return part;
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t members = 0;
};

/// Where the directory is, from the record that ends the file; only a comment may follow it.
Directory find_directory(const SeekableFile& zip) {
  const std::uint64_t size = zip.size_bytes();
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(size, kEndBytes + kCommentBytesMax);
  const std::string tail = read_part(zip, size - tail_bytes, tail_bytes);
  for (std::size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    if (tail.compare(at, kEndMagic.size(), kEndMagic) != 0) continue;
    if (at + kEndBytes + number_at<std::uint16_t>(tail, at + 20) != tail.size()) continue;
    Directory found{.offset = number_at<std::uint32_t>(tail, at + 16),
                    .bytes = number_at<std::uint32_t>(tail, at + 12),
                    .members = number_at<std::uint16_t>(tail, at + 10)};
    const bool is_large = found.offset == kIn64 || found.bytes == kIn64 || found.members == 0xffff;
    const std::uint64_t end = size - tail_bytes + at;
    if (!is_large || end < kEnd64LocatorBytes) return found;
    const std::string locator = read_part(zip, end - kEnd64LocatorBytes, kEnd64LocatorBytes);
    if (!locator.starts_with(kEnd64LocatorMagic)) return found;
    const auto end64 = number_at<std::uint64_t>(locator, 8);
    if (size < kEnd64Bytes || end64 > size - kEnd64Bytes)
      fail(zip, end, "its ZIP64 end record lies behind its end");
    const std::string record = read_part(zip, end64, kEnd64Bytes);
    if (!record.starts_with(kEnd64Magic)) fail(zip, end64, "no ZIP64 end record is here");
    return {.offset = number_at<std::uint64_t>(record, 48),
            .bytes = number_at<std::uint64_t>(record, 40),
            .members = number_at<std::uint64_t>(record, 32)};
  }
  fail(zip, size, "this is no zip file, or it is cut: its end record (PK 05 06) is not at its end");
}

/// Numbers that had no room in the entry stand in extra field 1, in this order.
void take_large_numbers(std::string_view extra, ZipMember& member) {
  while (extra.size() >= 4) {
    const auto id = number_at<std::uint16_t>(extra, 0);
    const std::size_t size = number_at<std::uint16_t>(extra, 2);
    std::string_view field = extra.substr(4, size);
    extra.remove_prefix(std::min(extra.size(), 4 + size));
    if (id != 1) continue;
    for (std::uint64_t* const value : {&member.bytes, &member.stored_bytes, &member.offset}) {
      if (*value != kIn64 || field.size() < sizeof(std::uint64_t)) continue;
      *value = number_at<std::uint64_t>(field, 0);
      field.remove_prefix(sizeof(std::uint64_t));
    }
  }
}

/// Compares a member's bytes, which come in pieces, with what the directory says of them.
class MemberCheck {
 public:
  void add(std::string_view bytes) {
    crc_ = static_cast<std::uint32_t>(
        ::crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    bytes_ += bytes.size();
  }
  void finish(const SeekableFile& zip, const ZipMember& member) const {
    if (bytes_ == member.bytes && crc_ == member.crc32) return;
    fail(zip, member.offset,
         fmt::format("member '{}' is damaged: its {} bytes have CRC-32 {:08x}, but {} with {:08x} "
                     "are expected",
                     member.name, bytes_, crc_, member.bytes, member.crc32));
  }

 private:
  std::uint32_t crc_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Calls take(piece) for the member's bytes as they lie in the file.
template <class Take>
void read_pieces(const SeekableFile& zip, std::uint64_t begin, std::uint64_t bytes,
                 const Take& take) {
  constexpr std::uint64_t kStepBytes = std::uint64_t{1} << 20;
  std::string step;
  for (std::uint64_t done = 0; done < bytes; done += step.size()) {
    step.resize(std::min(kStepBytes, bytes - done));
    zip.read_exactly(begin + done, step);
    take(step);
  }
}

class Inflater {
 public:
  Inflater() { ::inflateInit2(&stream_, -MAX_WBITS); }  // bare: no zlib or gzip wrapper
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// False when the bytes are no deflate stream. Calls take(piece) for what comes out.
  template <class Take>
  bool inflate(std::string_view bytes, const Take& take) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    int result = Z_OK;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      result = ::inflate(&stream_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return false;
      take(std::string_view(out_.data(), out_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0 && result != Z_STREAM_END);
    return true;
  }

 private:
  z_stream stream_{};
  std::string out_ = std::string(std::size_t{1} << 18, '\0');
};

FilePart inflate_member(const SeekableFile& zip, const ZipMember& member, std::uint64_t begin) {
  File copy = make_nameless_file(fmt::format("member '{}' of {}", member.name, zip.name()));
  MemberCheck check;
  Inflater inflater;
  std::uint64_t bytes = 0;
  read_pieces(zip, begin, member.stored_bytes, [&](std::string_view piece) {
    const bool is_good = inflater.inflate(piece, [&](std::string_view out) {
      bytes += out.size();
      if (bytes > member.bytes) return;  // no bomb fills the disk; the check says what is wrong
      check.add(out);
      copy.write(out);
    });
    if (is_good && bytes <= member.bytes) return;
    fail(zip, member.offset,
         fmt::format("member '{}' is damaged: its bytes are no deflate stream of {} bytes",
                     member.name, member.bytes));
  });
  check.finish(zip, member);
  return {std::make_shared<SeekableFile>(zip.name(), std::move(copy)), 0, member.bytes};
}

}  // namespace

std::vector<ZipMember> list_zip(const SeekableFile& zip) {
  const Directory directory = find_directory(zip);
  if (directory.offset > zip.size_bytes() ||
      directory.bytes > zip.size_bytes() - directory.offset ||
      directory.bytes > kDirectoryBytesMax) {
    fail(zip, directory.offset, "the zip file's directory lies behind its end: it is cut");
  }
  const std::string bytes = read_part(zip, directory.offset, directory.bytes);
  std::vector<ZipMember> members;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    const std::string_view entry = std::string_view(bytes).substr(at);
    if (entry.size() < kEntryBytes || !entry.starts_with(kEntryMagic)) {
      fail(zip, directory.offset + at,
           fmt::format("the directory is damaged at entry {} of {}", i, directory.members));
    }
    const std::size_t name_bytes = number_at<std::uint16_t>(entry, 28);
    const std::size_t extra_bytes = number_at<std::uint16_t>(entry, 30);
    const std::size_t comment_bytes = number_at<std::uint16_t>(entry, 32);
    const std::string_view rest = entry.substr(kEntryBytes);
    if (rest.size() < name_bytes + extra_bytes + comment_bytes) {
      fail(zip, directory.offset + at, "the directory ends inside an entry");
    }
    ZipMember member{.name = std::string(rest.substr(0, name_bytes)),
                     .offset = number_at<std::uint32_t>(entry, 42),
                     .stored_bytes = number_at<std::uint32_t>(entry, 20),
                     .bytes = number_at<std::uint32_t>(entry, 24),
                     .crc32 = number_at<std::uint32_t>(entry, 16),
                     .method = number_at<std::uint16_t>(entry, 10),
                     .flags = number_at<std::uint16_t>(entry, 8)};
    take_large_numbers(rest.substr(name_bytes, extra_bytes), member);
    if (!member.name.ends_with('/')) members.push_back(std::move(member));
    at += kEntryBytes + name_bytes + extra_bytes + comment_bytes;
  }
  return members;
}

FilePart open_member(const std::shared_ptr<const SeekableFile>& zip, const ZipMember& member) {
  const bool is_encrypted = (member.flags & kEncryptedFlag) != 0;
  if (is_encrypted || (member.method != kStored && member.method != kDeflated)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("member '{}' is {}; only stored and deflated members can be read: "
                            "write the file with numpy.savez or savez_compressed",
                            member.name,
                            is_encrypted ? std::string("encrypted")
                                         : fmt::format("compressed by method {}", member.method)))
        .at_file(zip->name());
  }
  const std::uint64_t size = zip->size_bytes();
  if (size < kLocalBytes || member.offset > size - kLocalBytes) {
    fail(*zip, member.offset, fmt::format("member '{}' lies behind the end", member.name));
  }
  const std::string local = read_part(*zip, member.offset, kLocalBytes);
  if (!local.starts_with(kLocalMagic)) {
    fail(*zip, member.offset, fmt::format("member '{}' does not begin here", member.name));
  }
  const std::uint64_t begin = member.offset + kLocalBytes + number_at<std::uint16_t>(local, 26) +
                              number_at<std::uint16_t>(local, 28);
  if (begin > size || member.stored_bytes > size - begin) {
    fail(
        *zip, member.offset,
        fmt::format("the file is cut: member '{}' has {} bytes", member.name, member.stored_bytes));
  }
  if (member.method == kDeflated) return inflate_member(*zip, member, begin);
  MemberCheck check;
  read_pieces(*zip, begin, member.stored_bytes, [&](std::string_view piece) { check.add(piece); });
  check.finish(*zip, member);
  return {zip, begin, member.bytes};
}

}  // namespace infeed::tools
