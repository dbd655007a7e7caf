#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <lz4.h>
#include <lz4frame.h>
#include <new>
#include <optional>
#include <utility>

#include "codec/lz4_file.h"
#include "codec/lz4_layout.h"
#include "infeed/detail/format_version.h"
#include "infeed/error.h"
#include "infeed/records/files.h"
#include "io/little_endian.h"
#include "io/stream_window.h"
#include "memory/block.h"
#include "tfrecord/framing.h"

namespace infeed::detail {
namespace {

using Lz4Context = std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)>;

Lz4Context make_lz4_context() {
  LZ4F_dctx* context = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0) {
    throw std::bad_alloc();
  }
  return {context, &LZ4F_freeDecompressionContext};
}

/// Decodes frames whose blocks stand alone and have no checksums block by block, so that damage
/// costs a block. All other frames are left to the library.
class Lz4FileSource final : public Lz4Source {
 public:
  Lz4FileSource(const std::string& name, std::unique_ptr<ByteSource> input,
                std::size_t input_block_bytes)
      : input_(std::move(input), std::make_shared<BlockPool>(name), input_block_bytes),
        is_far_(is_url(name)) {}

  void begin_segment(const SegmentPlace& begin, const SegmentPlace& end) override {
    input_.start_at(begin.file_offset);
    stream_offset_ = begin.stream_offset;
    held_begin_ = held_end_ = 0;
    frame_begin_ = {};
    block_bytes_max_ = kLz4BlockBytes;
    places_ = {end};
    next_place_ = 0;
    is_index_read_ = is_segment_ = true;
    at_ = At::block;
  }

  std::size_t room_preferred() const override { return block_bytes_; }

  std::size_t read(std::span<char> into) override {
    if (held_begin_ != held_end_) return take_held(into);
    std::size_t got = 0;
    while (got == 0 && at_ != At::end) {
      switch (at_) {
        case At::frame:
          begin_frame();
          break;
        case At::block:
          got = read_block(into);
          break;
        case At::library_frame:
          got = read_by_library(into);
          break;
        case At::end:
          break;
      }
    }
    return got;
  }

 private:
  enum class At { frame, block, library_frame, end };

  void begin_frame() {
    // By URL an index costs two requests, so it waits until something is damaged.
    if (!is_index_read_ && !is_far_) read_index();
    if (!input_.ensure(1) && !input_.damage()) {
      require_index();
      at_ = At::end;
      return;
    }
    const bool is_there = input_.ensure(LZ4F_MIN_SIZE_TO_KNOW_HEADER_LENGTH);
    const std::string_view front(input_.data(), input_.size());
    if (is_there && is_skippable_magic(load_little<std::uint32_t>(front.data()))) {
      pass_skippable_frame();
    } else if (front.starts_with(kLz4Magic)) {
      require_index();
      take_header();
    } else {
      lose_block("what follows the end of a frame is not another one");
    }
  }

  void take_header() {
    const std::size_t size = LZ4F_headerSize(input_.data(), input_.size());
    if (LZ4F_isError(size) != 0 || !input_.ensure(size)) lose_block("a frame's header is damaged");
    if (context_ == nullptr) context_ = make_lz4_context();
    LZ4F_resetDecompressionContext(context_.get());
    LZ4F_frameInfo_t frame{};
    std::size_t taken = input_.size();
    wanted_ = LZ4F_getFrameInfo(context_.get(), &frame, input_.data(), &taken);
    if (LZ4F_isError(wanted_) != 0) lose_block("a frame's header is damaged");
    if (frame.dictID != 0) give_up("it needs a dictionary, which can't be given here");
    library_has_more_ = false;
    frame_begin_ = {input_.offset(), stream_offset_, 0};
    owes_index_ = input_.ensure(kLz4FrameHeader.size()) &&
                  std::string_view(input_.data(), input_.size()).starts_with(kLz4FrameHeader);
    input_.consume(taken);
    const bool can_lose_a_block = frame.blockMode == LZ4F_blockIndependent &&
                                  frame.blockChecksumFlag == LZ4F_noBlockChecksum &&
                                  frame.contentChecksumFlag == LZ4F_noContentChecksum &&
                                  frame.contentSize == 0;
    at_ = can_lose_a_block ? At::block : At::library_frame;
    constexpr std::size_t kSmallestBlockBytes = std::size_t{64} << 10;  // each next id: 4 times
    block_bytes_max_ = kSmallestBlockBytes << 2 * (frame.blockSizeID - LZ4F_max64KB);
  }

  std::size_t read_block(std::span<char> into) {
    if (!input_.ensure(kLz4BlockHeaderBytes)) lose_block("it is cut: its end mark is missing");
    const auto header = load_little<std::uint32_t>(input_.data());
    if (header == 0) {
      if (is_segment_) give_up("its frame ends where the index has a block");
      if (!places_.empty() && !is_at(places_.back(), {input_.offset(), stream_offset_, 0})) {
        lose_block("its frame ends where the index has a block");
      }
      frame_end_ = {input_.offset() - frame_begin_.file_offset,
                    stream_offset_ - frame_begin_.stream_offset, 0};
      input_.consume(kLz4BlockHeaderBytes);
      at_ = At::frame;
      return 0;
    }
    const std::size_t size = header & ~kLz4IsStored;
    if (size > block_bytes_max_) lose_block("the size of a block can't be right");
    if (!input_.ensure(kLz4BlockHeaderBytes + size)) lose_block("it is cut inside a block");
    const std::string_view data(input_.data() + kLz4BlockHeaderBytes, size);
    const auto decoded = (header & kLz4IsStored) != 0 ? copy(data, into) : decode(data, into);
    if (!decoded) lose_block("a block can't be decoded");
    if (!fits_index(
            {input_.offset() + kLz4BlockHeaderBytes + size, stream_offset_ + *decoded, 0})) {
      held_end_ = 0;
      lose_block("a block has another length than the index says");
    }
    input_.consume(kLz4BlockHeaderBytes + size);
    stream_offset_ += *decoded;
    block_bytes_ = *decoded;
    return held_end_ == 0 ? *decoded : take_held(into);
  }

  /// Both give the size of the block, whose bytes are in `into` or held.
  std::optional<std::size_t> copy(std::string_view data, std::span<char> into) {
    const bool is_direct = data.size() <= into.size();
    std::memcpy(is_direct ? into.data() : hold(data.size()), data.data(), data.size());
    held_end_ = is_direct ? 0 : data.size();
    return data.size();
  }
  std::optional<std::size_t> decode(std::string_view data, std::span<char> into) {
    held_end_ = 0;
    const auto decode_to = [data](char* to, std::size_t room) -> std::optional<std::size_t> {
      const int size = LZ4_decompress_safe(data.data(), to, static_cast<int>(data.size()),
                                           static_cast<int>(room));
      return size < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(size));
    };
    // The block's size isn't known. The last one of a segment fits exactly, and is hardly smaller
    // than half of what it may have.
    if (into.size() >= block_bytes_max_ / 2) {
      const auto size = decode_to(into.data(), std::min(into.size(), block_bytes_max_));
      if (size || into.size() >= block_bytes_max_) return size;
    }
    const auto size = decode_to(hold(block_bytes_max_), block_bytes_max_);
    held_end_ = size.value_or(0);
    return size;
  }

  char* hold(std::size_t bytes) {
    held_begin_ = 0;
    if (held_.size() < bytes) held_.resize(bytes);
    return held_.data();
  }
  std::size_t take_held(std::span<char> into) {
    const std::size_t count = std::min(into.size(), held_end_ - held_begin_);
    std::memcpy(into.data(), held_.data() + held_begin_, count);
    held_begin_ += count;
    if (held_begin_ == held_end_) held_begin_ = held_end_ = 0;
    return count;
  }

  std::size_t read_by_library(std::span<char> into) {
    const std::size_t wanted = bytes_to_give();
    input_.ensure(wanted);
    std::size_t taken = std::min(input_.size(), wanted);
    std::size_t got = into.size();
    wanted_ = LZ4F_decompress(context_.get(), into.data(), &got, input_.data(), &taken, nullptr);
    if (LZ4F_isError(wanted_) != 0) give_up(describe_failure(LZ4F_getErrorName(wanted_)));
    input_.consume(taken);
    stream_offset_ += got;
    library_has_more_ = got == into.size();
    if (wanted_ == 0) at_ = At::frame;
    if (wanted_ != 0 && wanted != 0 && taken == 0 && got == 0) give_up("it is cut inside a frame");
    return got;
  }

  /// The decoder forgets what it decoded in a call that meets damage. So a call gets one block, or
  /// the header of the next one (which the decoder would like together with the block), and nothing
  /// before all that was decoded has come out.
  std::size_t bytes_to_give() const {
    if (library_has_more_) return 0;
    return wanted_ > kLz4BlockHeaderBytes ? wanted_ - kLz4BlockHeaderBytes
                                          : std::max<std::size_t>(wanted_, 1);
  }

  static std::string describe_failure(std::string_view error) {
    if (error.find("ontentChecksum") != error.npos || error.find("lockChecksum") != error.npos) {
      return "a checksum does not match the contents";
    }
    return fmt::format("the lz4 library says '{}'", error);
  }

  void pass_skippable_frame() {
    if (input_.ensure(kSkippableHeaderBytes)) {
      const auto magic = load_little<std::uint32_t>(input_.data());
      const std::uint64_t size = load_little<std::uint32_t>(input_.data() + 4);
      input_.consume(kSkippableHeaderBytes);
      const bool may_be_index = magic == kLz4IndexMagic && size >= kLz4IndexBytesMin;
      if (may_be_index ? check_index(size) : input_.discard(size)) return;
    }
    give_up("it is cut inside a skippable frame, as the index at its end");
  }

  /// Refuses the end of a frame of ours whose index didn't follow.
  void require_index() {
    if (!owes_index_) return;
    give_up(
        "the index that its writer put behind the end mark is missing, so it was cut there; all "
        "records before are whole ('infeed repair' writes them with an index)");
  }

  /// Compares an index of ours with the blocks before it. False where the file ends before.
  bool check_index(std::uint64_t size) {
    std::string tail;
    std::uint32_t crc = 0;
    constexpr std::uint64_t kUncheckedBytes = 12;  // at the end
    for (std::uint64_t left = size; left != 0;) {
      if (!input_.ensure(1)) return false;
      const std::string_view bytes(input_.data(), std::min<std::uint64_t>(left, input_.size()));
      const std::uint64_t checked =
          left > kUncheckedBytes ? std::min<std::uint64_t>(bytes.size(), left - kUncheckedBytes)
                                 : 0;
      crc = extend_crc32c(crc, bytes.substr(0, checked));
      tail += bytes;
      if (tail.size() > kLz4IndexBytesMin) tail.erase(0, tail.size() - kLz4IndexBytesMin);
      left -= bytes.size();
      input_.consume(bytes.size());
    }
    if (!tail.ends_with(kLz4TrailerMagic)) {
      refuse_later_index(tail.substr(tail.size() - kLz4TrailerMagic.size()));
      return true;  // another program's
    }
    const char* const trailer = tail.data() + SegmentPlace::kBytes;
    const SegmentPlace end = SegmentPlace::load(tail.data());
    const bool is_right =
        load_little<std::uint32_t>(trailer + 8) == mask_crc32c(crc) &&
        load_little<std::uint64_t>(trailer) == (size - kLz4IndexBytesMin) / SegmentPlace::kBytes;
    if (!is_right) give_up("the index at its end is damaged");
    if (is_whole_ && (end.file_offset != frame_end_.file_offset ||
                      end.stream_offset != frame_end_.stream_offset)) {
      give_up("the index at its end describes other blocks");
    }
    owes_index_ = false;
    return true;
  }

  void refuse_later_index(std::string_view magic) {
    const char known = kLz4TrailerMagic.back();
    const char found = magic.back();
    magic.remove_suffix(1);
    if (!kLz4TrailerMagic.starts_with(magic) || found <= known || found > '9') return;
    give_up(later_format_text("the index at its end", static_cast<std::uint64_t>(found - '0'),
                              static_cast<std::uint64_t>(known - '0')));
  }

  /// Throws the damage that is at the front of the input, after going to the next block whose place
  /// the index knows.
  [[noreturn]] void lose_block(std::string_view what) {
    const std::string where = fmt::format("{} (byte {} of the file)", what, input_.offset());
    if (input_.damage()) give_up(input_.damage()->message);
    if (is_segment_) give_up(where);
    if (!is_index_read_) read_index();
    const auto next =
        std::find_if(places_.begin(), places_.end(), [this](const SegmentPlace& place) {
          return place.file_offset > input_.offset() && place.stream_offset >= stream_offset_;
        });
    if (next == places_.end()) give_up(where);
    input_.seek(next->file_offset);
    frame_begin_ = {};
    block_bytes_max_ = kLz4BlockBytes;
    stream_offset_ = next->stream_offset;
    is_whole_ = false;
    at_ = At::block;
    throw damage(where, stream_offset_);
  }

  /// Leaves places_ empty where there is none to be had.
  void read_index() {
    is_index_read_ = true;
    const auto left = input_.remaining_bytes();
    if (!input_.is_seekable() || !left) return;
    const std::uint64_t here = input_.offset();
    try {
      places_ = find_lz4_places(here + *left, [this](std::uint64_t offset, std::uint64_t bytes) {
        input_.seek(offset);
        input_.ensure(bytes);
        return std::string(input_.data(), std::min<std::size_t>(bytes, input_.size()));
      });
    } catch (const StreamDamage&) {  // another program's file, or a damaged index
    }
    input_.seek(here);
  }

  /// False if the index says that the block at the front doesn't end at `end`.
  bool fits_index(const SegmentPlace& end) {
    if (places_.empty()) return true;
    while (next_place_ < places_.size() && places_[next_place_].file_offset <= input_.offset()) {
      ++next_place_;
    }
    if (next_place_ == places_.size()) return false;
    const SegmentPlace& next = places_[next_place_];
    return end.file_offset < next.file_offset ? end.stream_offset <= next.stream_offset
                                              : is_at(next, end);
  }
  static bool is_at(const SegmentPlace& place, const SegmentPlace& here) {
    return place.file_offset == here.file_offset && place.stream_offset == here.stream_offset;
  }

  [[noreturn]] void give_up(std::string_view what) {
    at_ = At::end;
    throw damage(what, std::nullopt);
  }
  static StreamDamage damage(std::string_view what, std::optional<std::uint64_t> resumes_at) {
    return {fmt::format("the lz4 file is damaged: {}", what), resumes_at};
  }

  StreamWindow input_;
  Lz4Context context_{nullptr, &LZ4F_freeDecompressionContext};
  At at_ = At::frame;
  std::vector<char> held_;  // a block that did not fit the reader's room
  std::size_t held_begin_ = 0;
  std::size_t held_end_ = 0;                  // 0: nothing is held
  std::size_t block_bytes_ = kLz4BlockBytes;  // size of the last block
  std::size_t block_bytes_max_ = kLz4BlockBytes;
  std::uint64_t stream_offset_ = 0;  // where the next block begins
  std::size_t wanted_ = 0;           // bytes that the library would like next
  bool library_has_more_ = false;    // its last call filled the room
  SegmentPlace frame_begin_;
  SegmentPlace frame_end_;  // counted from its begin
  const bool is_far_;
  std::vector<SegmentPlace> places_;  // by the index
  std::size_t next_place_ = 0;
  bool is_segment_ = false;  // the blocks up to places_.back() alone are wanted
  bool is_index_read_ = false;
  bool is_whole_ = true;
  bool owes_index_ = false;  // the frame promised one that hasn't come
};

}  // namespace

std::unique_ptr<Lz4Source> make_lz4_source(const std::string& name,
                                           std::unique_ptr<ByteSource> input,
                                           std::size_t input_block_bytes) {
  return std::make_unique<Lz4FileSource>(name, std::move(input), input_block_bytes);
}

}  // namespace infeed::detail
