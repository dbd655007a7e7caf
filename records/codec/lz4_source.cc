#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <lz4.h>
#include <utility>

#include "codec/lz4_file.h"
#include "codec/lz4_layout.h"
#include "infeed/error.h"
#include "io/little_endian.h"
#include "io/stream_window.h"
#include "tfrecord/framing.h"

namespace infeed::detail {

std::optional<Lz4BlockHeader> Lz4BlockHeader::load(const char* at) {
  if (std::memcmp(at, kLz4BlockMagic.data(), kLz4BlockMagic.size()) != 0) return std::nullopt;
  if (load_little<std::uint32_t>(at + 32) != mask_crc32c(crc32c({at, 32}))) return std::nullopt;
  Lz4BlockHeader header{load_little<std::uint32_t>(at + 4), load_little<std::uint32_t>(at + 8),
                        load_little<std::uint32_t>(at + 12), load_little<std::uint64_t>(at + 16),
                        load_little<std::uint64_t>(at + 24)};
  // LZ4 gains a factor of 255 at most, so a claim can't ask for much more memory than was sent.
  const bool can_be = header.stream_bytes <= kLz4BlockBytesMax &&
                      header.compressed_bytes <= header.stream_bytes &&
                      header.stream_bytes / 256 <= header.compressed_bytes &&
                      header.stream_offset <= ~std::uint64_t{0} / 2;
  return can_be ? std::optional(header) : std::nullopt;
}

namespace {

/// False when they can't be decoded to exactly `into.size()`.
bool decode_lz4_block(std::string_view compressed, std::span<char> into) {
  if (compressed.size() == into.size()) {  // stored as it is
    if (!into.empty()) std::memcpy(into.data(), compressed.data(), into.size());
    return true;
  }
  return LZ4_decompress_safe(compressed.data(), into.data(), static_cast<int>(compressed.size()),
                             static_cast<int>(into.size())) == static_cast<int>(into.size());
}

class Lz4FileSource final : public Lz4Source {
 public:
  Lz4FileSource(const std::string& name, std::unique_ptr<ByteSource> input,
                std::size_t input_block_bytes)
      : name_(name),
        input_(std::move(input), std::make_shared<BlockPool>(name), input_block_bytes) {}

  void restart_at(const SegmentPlace& place) override {
    input_.start_at(place.file_offset);
    stream_offset_ = place.stream_offset;
    held_begin_ = held_end_ = 0;
    header_read_ = true;
    ended_ = false;
  }

  std::size_t room_preferred() const override { return block_bytes_; }

  std::size_t read(std::span<char> into) override {
    if (held_begin_ != held_end_) return take_held(into);
    if (!header_read_) read_file_header();
    while (!ended_) {
      if (!input_.ensure(Lz4BlockHeader::kBytes)) give_up("it is cut: its end mark is missing");
      const auto header = Lz4BlockHeader::load(input_.data());
      if (!header) find_next_block("a block's header is damaged");
      if (header->stream_offset != stream_offset_) find_next_block("a block is missing or doubled");
      input_.consume(Lz4BlockHeader::kBytes);
      if (header->is_end_mark()) {
        ended_ = true;
        check_index();
      } else {
        return decode(*header, into);
      }
    }
    return 0;
  }

 private:
  void read_file_header() {
    header_read_ = true;
    const bool is_there = input_.ensure(kLz4FileHeaderBytes);
    const char* const at = input_.data();
    if (!is_there || std::memcmp(at, kLz4Magic.data(), kLz4Magic.size()) != 0 ||
        load_little<std::uint32_t>(at + 12) != mask_crc32c(crc32c({at, 12}))) {
      find_next_block("the file's header is damaged");
    }
    const auto version = load_little<std::uint32_t>(at + 8);
    if (version != kLz4Version) {
      ended_ = true;
      throw Error(ErrorCode::failed_precondition,
                  fmt::format("the lz4 file has version {}, but only {} is known; a newer infeed "
                              "wrote it",
                              version, kLz4Version))
          .at_file(name_);
    }
    input_.consume(kLz4FileHeaderBytes);
  }

  std::size_t decode(const Lz4BlockHeader& header, std::span<char> into) {
    const std::uint64_t begin = input_.offset() - Lz4BlockHeader::kBytes;
    if (!input_.ensure(header.compressed_bytes)) give_up("it is cut inside a block");
    const std::string_view compressed(input_.data(), header.compressed_bytes);
    const bool is_direct = header.stream_bytes <= into.size();
    if (!is_direct) held_.resize(header.stream_bytes);
    const std::span<char> target =
        is_direct ? into.first(header.stream_bytes) : std::span<char>(held_);
    const bool is_good = decode_lz4_block(compressed, target);
    input_.consume(header.compressed_bytes);
    stream_offset_ += header.stream_bytes;
    block_bytes_ = header.stream_bytes;
    ++blocks_;
    if (!is_good) {
      throw damage(fmt::format("the block at byte {} of the file can't be decoded", begin),
                   stream_offset_);
    }
    if (is_direct) return target.size();
    held_begin_ = 0;
    held_end_ = target.size();
    return take_held(into);
  }

  std::size_t take_held(std::span<char> into) {
    const std::size_t count = std::min(into.size(), held_end_ - held_begin_);
    std::memcpy(into.data(), held_.data() + held_begin_, count);
    held_begin_ += count;
    return count;
  }

  /// Throws the damage that is at the front of the input, after looking for the next good header.
  [[noreturn]] void find_next_block(const std::string& what) {
    const std::string where = fmt::format("{} (byte {} of the file)", what, input_.offset());
    is_whole_ = false;
    while (input_.ensure(Lz4BlockHeader::kBytes)) {
      const std::string_view bytes(input_.data(), input_.size());
      const std::size_t at = bytes.find(kLz4BlockMagic);
      if (at != 0) {
        const std::size_t tail = kLz4BlockMagic.size() - 1;
        input_.consume(at == bytes.npos ? bytes.size() - tail : at);
        continue;
      }
      const auto header = Lz4BlockHeader::load(input_.data());
      if (header && header->stream_offset >= stream_offset_) {
        stream_offset_ = header->stream_offset;
        throw damage(where, stream_offset_);
      }
      input_.consume(1);
    }
    give_up(where);
  }

  /// Everything behind the end mark must be as the writer leaves it.
  void check_index() {
    std::string tail;
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
    while (input_.ensure(1)) {  // the CRC leaves out the last 12 bytes, so they are kept back
      tail.append(input_.data(), input_.size());
      size += input_.size();
      input_.consume(input_.size());
      if (tail.size() <= kLz4TrailerBytes) continue;
      const std::size_t sure = tail.size() - kLz4TrailerBytes;
      crc = extend_crc32c(crc, std::string_view(tail).substr(0, sure));
      tail.erase(0, sure);
    }
    if (tail.size() < kLz4TrailerBytes) give_up("it is cut inside the index at its end");
    const auto count = load_little<std::uint64_t>(tail.data());
    crc = extend_crc32c(crc, std::string_view(tail).substr(0, 8));
    const bool is_right = load_little<std::uint32_t>(tail.data() + 8) == mask_crc32c(crc) &&
                          tail.ends_with(kLz4TrailerMagic) &&
                          count == (size - kLz4TrailerBytes) / SegmentPlace::kBytes &&
                          (count == blocks_ || !is_whole_);
    if (!is_right) give_up("the index at its end is damaged");
  }

  [[noreturn]] void give_up(const std::string& what) {
    ended_ = true;
    throw damage(what, std::nullopt);
  }

  StreamDamage damage(std::string_view what, std::optional<std::uint64_t> resumes_at) {
    if (resumes_at) is_whole_ = false;
    return {fmt::format("the lz4 file is damaged: {}", what), resumes_at};
  }

  const std::string name_;
  StreamWindow input_;
  std::vector<char> held_;  // a block that did not fit the reader's room
  std::size_t held_begin_ = 0;
  std::size_t held_end_ = 0;
  std::size_t block_bytes_ = kLz4BlockBytes;
  std::uint64_t stream_offset_ = 0;  // where the next block begins
  std::uint64_t blocks_ = 0;
  bool header_read_ = false;
  bool is_whole_ = true;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Lz4Source> make_lz4_source(const std::string& name,
                                           std::unique_ptr<ByteSource> input,
                                           std::size_t input_block_bytes) {
  return std::make_unique<Lz4FileSource>(name, std::move(input), input_block_bytes);
}

}  // namespace infeed::detail
