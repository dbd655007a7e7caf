#include "codec/zstd_source.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <optional>
#include <utility>
#include <zstd.h>
#include <zstd_errors.h>

#include "codec/skippable_frame.h"
#include "infeed/records/limits.h"
#include "io/little_endian.h"
#include "io/stream_window.h"
#include "memory/block.h"

namespace infeed::detail {
namespace {

std::string describe_zstd_failure(std::size_t result) {
  switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_checksum_wrong:
      return "its checksum does not match its contents";
    case ZSTD_error_frameParameter_windowTooLarge:
      return fmt::format(
          "it wants a window of more than {} bytes, which is the limit ('zstd -d --long=31' "
          "decompresses it)",
          std::uint64_t{1} << limits::zstd_window_log);
    case ZSTD_error_dictionary_wrong:
      return "it needs a dictionary, which can't be given here";
    case ZSTD_error_memory_allocation:
      throw std::bad_alloc();
    default:
      return fmt::format("zstd says '{}'", ZSTD_getErrorName(result));
  }
}

class ZstdSource final : public ByteSource {
 public:
  ZstdSource(const std::string& name, std::unique_ptr<ByteSource> input,
             std::size_t input_block_bytes)
      : input_(std::move(input), std::make_shared<BlockPool>(name), input_block_bytes),
        context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, limits::zstd_window_log);
  }

  std::size_t read(std::span<char> into) override {
    while (!ended_) {
      if (damage_) {
        ended_ = true;
        throw *damage_;
      }
      if (!in_frame_) {
        begin_frame();
      } else if (const std::size_t got = decompress_into(into); got != 0) {
        return got;
      }
    }
    return 0;
  }

 private:
  void begin_frame() {
    if (!input_.ensure(1) && !input_.damage()) {
      ended_ = true;
      return;
    }
    const bool is_there = input_.ensure(kZstdMagic.size());
    const std::string_view front(input_.data(), input_.size());
    if (front.starts_with(kZstdMagic)) {
      constexpr std::size_t kHeaderBytesMax = 18;
      input_.ensure(kHeaderBytesMax);
      frame_bytes_claimed_ = ZSTD_getFrameContentSize(input_.data(), input_.size());
      if (frame_bytes_claimed_ == ZSTD_CONTENTSIZE_ERROR) {
        frame_bytes_claimed_ = ZSTD_CONTENTSIZE_UNKNOWN;  // the decoder says why
      }
      frame_bytes_ = 0;
      wanted_ = ZSTD_initDStream(context_.get());
      has_more_ = false;
      in_frame_ = true;
      ++frames_;
    } else if (is_there && is_skippable_magic(load_little<std::uint32_t>(front.data()))) {
      pass_skippable_frame();
    } else if (input_.damage()) {
      give_up(input_.damage()->message);
    } else {
      give_up("what follows the end of a zstd frame is not another one");
    }
  }

  void pass_skippable_frame() {
    if (input_.ensure(kSkippableHeaderBytes)) {
      const std::uint64_t content = load_little<std::uint32_t>(input_.data() + 4);
      input_.consume(kSkippableHeaderBytes);
      if (input_.discard(content)) return;
    }
    give_up("the file ends inside a skippable frame");
  }

  std::size_t decompress_into(std::span<char> into) {
    const std::size_t wanted = bytes_to_give();
    input_.ensure(wanted);
    ZSTD_inBuffer in{input_.data(), std::min(input_.size(), wanted), 0};
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    wanted_ = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_isError(wanted_) != 0) give_up_frame(describe_zstd_failure(wanted_));
    input_.consume(in.pos);
    has_more_ = out.pos == out.size;
    frame_bytes_ += out.pos;
    in_frame_ = wanted_ != 0;
    if (in_frame_ && wanted != 0 && in.pos == 0 && out.pos == 0) {
      give_up_frame(input_.damage() ? input_.damage()->message
                                    : "the file ends inside it; it was probably not written or "
                                      "copied to its end");
    }
    if (!in_frame_) require_claimed_bytes();
    return out.pos;
  }

  /// The decoder forgets what it decoded in a call that meets damage. So a call gets one block, or
  /// the header of the next one (3 bytes, which the decoder would like together with the block), and
  /// nothing before all that was decoded has come out.
  std::size_t bytes_to_give() const {
    constexpr std::size_t kBlockHeaderBytes = 3;
    if (has_more_) return 0;
    return wanted_ > kBlockHeaderBytes ? wanted_ - kBlockHeaderBytes
                                       : std::max<std::size_t>(wanted_, 1);
  }

  /// The library doesn't compare them where the last block is empty.
  void require_claimed_bytes() {
    if (frame_bytes_claimed_ == ZSTD_CONTENTSIZE_UNKNOWN || frame_bytes_ == frame_bytes_claimed_) {
      return;
    }
    damage_ = frame_damage(
        fmt::format("it has {} bytes, and {} by its header", frame_bytes_, frame_bytes_claimed_));
  }

  StreamDamage frame_damage(std::string_view what) const {
    return {fmt::format("zstd frame {} is damaged near byte {} of the file: {}", frames_ - 1,
                        input_.offset(), what)};
  }
  [[noreturn]] void give_up_frame(std::string_view what) {
    ended_ = true;
    throw frame_damage(what);
  }

  [[noreturn]] void give_up(std::string_view what) {
    ended_ = true;
    throw StreamDamage{fmt::format("{} (byte {} of the file)", what, input_.offset())};
  }

  StreamWindow input_;
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
  std::size_t wanted_ = 0;         // bytes that the decoder would like next
  bool has_more_ = false;          // the last call filled its room
  std::uint64_t frames_ = 0;       // begun so far
  std::uint64_t frame_bytes_ = 0;  // decompressed so far
  std::uint64_t frame_bytes_claimed_ = ZSTD_CONTENTSIZE_UNKNOWN;
  std::optional<StreamDamage> damage_;  // thrown by the next read
  bool in_frame_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> make_zstd_source(const std::string& name,
                                             std::unique_ptr<ByteSource> input,
                                             std::size_t input_block_bytes) {
  return std::make_unique<ZstdSource>(name, std::move(input), input_block_bytes);
}

}  // namespace infeed::detail
