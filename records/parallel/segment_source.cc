#include "parallel/segment_source.h"

#include <algorithm>
#include <array>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <utility>

#include "codec/flush_points.h"
#include "codec/lz4_file.h"
#include "io/little_endian.h"

namespace infeed::detail {
namespace {

/// A part of a file. Bytes behind the part are read in small pieces only, because few of them will
/// be wanted.
class PartSource final : public ByteSource {
 public:
  explicit PartSource(const std::string& name)
      : file_(File::open_to_read(name)), size_(file_.size_bytes()) {}
  void begin(std::uint64_t begin, std::uint64_t end) {
    offset_ = begin;
    end_ = end;
  }
  std::size_t read(std::span<char> into) override {
    constexpr std::uint64_t kBehindBytes = 16 << 10;
    const std::uint64_t wanted = offset_ < end_ ? end_ - offset_ : kBehindBytes;
    const std::size_t got = file_.read_before_error(
        offset_,
        into.first(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, into.size()))));
    if (got == 0 && !into.empty()) require_end(offset_, size_.value_or(0));
    offset_ += got;
    return got;
  }
  std::optional<std::uint64_t> size_bytes() const override { return size_; }

 private:
  File file_;
  std::optional<std::uint64_t> size_;
  std::uint64_t offset_ = 0;
  std::uint64_t end_ = 0;
};

class Lz4SegmentSource final : public SegmentSource {
 public:
  Lz4SegmentSource(const std::string& file, std::size_t input_block_bytes) {
    auto part = std::make_unique<PartSource>(file);
    part_ = part.get();
    lz4_ = make_lz4_source(file, std::move(part), input_block_bytes);
  }
  void begin(const Segment& segment) override {
    part_->begin(segment.file_begin, segment.file_end);
    lz4_->begin_segment({segment.file_begin, segment.stream_begin, 0},
                        {segment.file_end, segment.stream_end, 0});
  }
  std::size_t read(std::span<char> into) override { return lz4_->read(into); }
  std::size_t room_preferred() const override { return lz4_->room_preferred(); }

 private:
  std::unique_ptr<Lz4Source> lz4_;
  PartSource* part_ = nullptr;  // inside lz4_
};

class GzipSegmentSource final : public SegmentSource {
 public:
  GzipSegmentSource(const std::string& file, std::size_t input_block_bytes)
      : file_(File::open_to_read(file)),
        input_(std::clamp<std::size_t>(input_block_bytes, 1024, std::size_t{1} << 20)) {}

  void begin(const Segment& segment) override {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_DEFLATE;
    offset_ = segment.file_begin;
    end_ = segment.file_end;
    left_ = segment.stream_end - segment.stream_begin;
    crc_ = 0;
    has_last_block_ = false;
  }

  std::size_t read(std::span<char> into) override {
    while (left_ != 0) {
      // The last bytes of the input may be kilobytes of output, which come in several calls.
      if (state_.avail_in == 0 && !has_last_block_) refill();
      const auto room = static_cast<std::uint32_t>(std::min<std::uint64_t>(into.size(), left_));
      state_.next_out = reinterpret_cast<std::uint8_t*>(into.data());
      state_.avail_out = room;
      const int code = isal_inflate(&state_);
      const std::uint32_t produced = room - state_.avail_out;
      const bool is_over =
          state_.block_state == ISAL_BLOCK_FINISH || (has_last_block_ && state_.avail_in == 0);
      if (code < 0 || (produced == 0 && is_over)) fail();
      if (produced == 0) continue;
      crc_ = crc32_gzip_refl(crc_, reinterpret_cast<const std::uint8_t*>(into.data()), produced);
      left_ -= produced;
      if (left_ == 0) require_end();
      return produced;
    }
    return 0;
  }
  std::uint32_t crc32() const override { return crc_; }

 private:
  void refill() {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(input_.size(), end_ - offset_));
    std::size_t got = file_.read_at(offset_, std::span(input_).first(wanted));
    if (got != wanted) fail();
    offset_ += got;
    if (got == 0) {
      has_last_block_ = true;
      constexpr std::array<char, 2> kLastBlock = {3, 0};
      std::copy(kLastBlock.begin(), kLastBlock.end(), input_.begin());
      got = kLastBlock.size();
    }
    state_.next_in = reinterpret_cast<std::uint8_t*>(input_.data());
    state_.avail_in = static_cast<std::uint32_t>(got);
  }

  /// Checks that exactly the promised bytes were in exactly the promised part of the file.
  void require_end() {
    std::array<std::uint8_t, 1> more{};
    while (state_.block_state != ISAL_BLOCK_FINISH) {
      if (state_.avail_in == 0 && !has_last_block_) refill();
      state_.next_out = more.data();
      state_.avail_out = more.size();
      if (isal_inflate(&state_) < 0 || state_.avail_out == 0) fail();
      const bool has_read_all = has_last_block_ && state_.avail_in == 0;
      if (has_read_all && state_.block_state != ISAL_BLOCK_FINISH) fail();
    }
    if (offset_ != end_ || !has_last_block_ || state_.avail_in != 0) fail();
  }

  [[noreturn]] static void fail() { throw StreamDamage{"a segment is damaged", std::nullopt}; }

  File file_;
  std::vector<char> input_;
  inflate_state state_{};
  std::uint64_t offset_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t left_ = 0;  // decompressed bytes to come
  std::uint32_t crc_ = 0;
  bool has_last_block_ = false;
};

/// True if `deflated` is the end of a deflate stream, without any content.
bool is_empty_end(std::string_view deflated) {
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_DEFLATE;
  state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(deflated.data()));
  state.avail_in = static_cast<std::uint32_t>(deflated.size());
  std::array<std::uint8_t, 1> content{};
  state.next_out = content.data();
  state.avail_out = content.size();
  return isal_inflate(&state) == ISAL_DECOMP_OK && state.block_state == ISAL_BLOCK_FINISH &&
         state.avail_out == content.size() && state.avail_in == 0;
}

}  // namespace

std::unique_ptr<SegmentSource> make_segment_source(const std::string& file, Compression compression,
                                                   std::size_t input_block_bytes) {
  if (compression == Compression::lz4) {
    return std::make_unique<Lz4SegmentSource>(file, input_block_bytes);
  }
  return std::make_unique<GzipSegmentSource>(file, input_block_bytes);
}

bool gzip_tail_is_right(const std::string& name, std::uint64_t segments_end, std::uint32_t crc,
                        std::uint64_t size) {
  constexpr std::uint64_t kTailBytesMax = 4096;  // a block without content and the trailer
  const File file = File::open_to_read(name);
  const std::uint64_t bytes = file.size_bytes().value_or(0);
  if (bytes < segments_end + kGzipTrailerBytes || bytes - segments_end > kTailBytesMax)
    return false;
  std::array<char, kGzipHeaderBytes> header{};
  std::string tail(bytes - segments_end, '\0');
  if (file.read_at(0, header) != header.size() || file.read_at(segments_end, tail) != tail.size()) {
    return false;
  }
  const auto byte = [&header](std::size_t i) { return static_cast<std::uint8_t>(header.at(i)); };
  const bool is_plain_header =
      byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == 8 && byte(3) == 0;  // no extra fields
  const char* const trailer = tail.data() + tail.size() - kGzipTrailerBytes;
  return is_plain_header && load_little<std::uint32_t>(trailer) == crc &&
         load_little<std::uint32_t>(trailer + 4) == static_cast<std::uint32_t>(size) &&
         is_empty_end(std::string_view(tail).substr(0, tail.size() - kGzipTrailerBytes));
}

}  // namespace infeed::detail
