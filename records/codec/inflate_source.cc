#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <limits>
#include <utility>
#include <vector>

#include "codec/gzip_header.h"
#include "io/byte_source.h"

namespace infeed::detail {
namespace {

std::string describe_failure(int code) {
  switch (code) {
    case ISAL_INCORRECT_CHECKSUM:
      return "its checksum does not match its contents";
    case ISAL_INVALID_WRAPPER:
      return "its header is invalid";
    case ISAL_UNSUPPORTED_METHOD:
      return "its header names an unknown method (only deflate exists)";
    case ISAL_NEED_DICT:
      return "it needs a preset dictionary, which record files do not have";
    case ISAL_INVALID_BLOCK:
      return "a deflate block is invalid";
    case ISAL_INVALID_SYMBOL:
      return "a deflate symbol is invalid";
    case ISAL_INVALID_LOOKBACK:
      return "a deflate distance points before the start";
    default:
      return fmt::format("decoding failed with code {}", code);
  }
}

class InflateSource final : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> input, Compression compression,
                std::size_t input_block_bytes, TrailingStreams trailing)
      : input_(std::move(input)),
        compression_(compression),
        trailing_(trailing),
        buffer_(kHeadroomBytes +
                block_bytes_for(*input_,
                                std::clamp(input_block_bytes, kInputBytesMin, kInputBytesMax))) {}

  std::size_t read(std::span<char> into) override {
    while (true) {
      if (!damage_.message.empty()) {
        if (const std::size_t left = take_decoded(into); left != 0) return left;
        throw damage_;
      }
      if (ended_ || (!in_stream_ && !begin_stream())) return 0;
      if (compression_ == Compression::gzip && !header_.is_over()) {
        take_header();
        continue;
      }
      const std::size_t produced = inflate_into(into);
      if (produced != 0) return produced;
    }
  }

 private:
  static constexpr std::size_t kInputBytesMin = 16;
  static constexpr std::size_t kHeadroomBytes = 16;  // for bytes that the decoder gives back
  static constexpr std::size_t kInputBytesMax = std::size_t{1} << 20;

  std::uint64_t input_offset() const { return input_end_ - state_.avail_in; }

  /// At least `bytes` of input at hand; false when the input ends before.
  bool refill(std::size_t bytes = 1) {
    if (state_.avail_in >= bytes) return true;
    std::size_t have = state_.avail_in;
    const std::span<char> room = std::span(buffer_).subspan(kHeadroomBytes);
    if (have != 0) std::memmove(room.data(), state_.next_in, have);
    while (have < bytes && !input_ended_) {
      const std::size_t got = input_->read(room.subspan(have));
      input_ended_ = got == 0;
      input_end_ += got;
      have += got;
    }
    state_.next_in = reinterpret_cast<std::uint8_t*>(room.data());
    state_.avail_in = static_cast<std::uint32_t>(have);
    return have >= bytes;
  }

  bool begin_stream() {
    const bool is_first = streams_ == 0;
    if (!refill()) {
      ended_ = true;
      return false;
    }
    if (!is_first && trailing_ == TrailingStreams::ignore_like_tensorflow &&
        compression_ == Compression::zlib) {
      ended_ = true;
      return false;
    }
    const std::uint8_t first = *state_.next_in;
    if (!is_first && first == 0 && compression_ == Compression::gzip &&
        trailing_ == TrailingStreams::read && only_zeros_follow()) {
      ended_ = true;
      return false;
    }
    if (!is_first && (compression_ == Compression::gzip ? first != 0x1f : (first & 0x0f) != 8)) {
      give_up(fmt::format("what follows the end of a {} stream is not another one",
                          to_string(compression_)));
    }
    std::uint8_t* const next = state_.next_in;
    const std::uint32_t available = state_.avail_in;
    isal_inflate_init(&state_);
    state_.next_in = next;
    state_.avail_in = available;
    state_.crc_flag = compression_ == Compression::gzip ? ISAL_GZIP_NO_HDR_VER : ISAL_ZLIB;
    header_ = GzipHeader();
    in_stream_ = true;
    ++streams_;
    return true;
  }

  /// Passes over zeros, with which tapes and some writers pad a file; gzip ignores them, too.
  bool only_zeros_follow() {
    while (refill()) {
      const std::uint8_t* const end = state_.next_in + state_.avail_in;
      const std::uint8_t* const other =
          std::find_if(state_.next_in, state_.next_in + state_.avail_in,
                       [](std::uint8_t byte) { return byte != 0; });
      state_.avail_in = static_cast<std::uint32_t>(end - other);
      state_.next_in += other - state_.next_in;
      if (other != end) return false;
    }
    return true;
  }

  void take_header() {
    if (!refill()) return end_in_mid_stream();
    const std::size_t taken = header_.take({state_.next_in, state_.avail_in});
    state_.next_in += taken;
    state_.avail_in -= static_cast<std::uint32_t>(taken);
    if (!header_.fault().empty()) note_damage(header_.fault());
  }

  std::size_t inflate_into(std::span<char> into) {
    const bool has_input = refill();
    const std::uint32_t available = state_.avail_in;
    const auto room = static_cast<std::uint32_t>(
        std::min<std::size_t>(into.size(), std::numeric_limits<std::uint32_t>::max() / 2));
    state_.next_out = reinterpret_cast<std::uint8_t*>(into.data());
    state_.avail_out = room;
    const int code = isal_inflate(&state_);
    const std::size_t produced = room - state_.avail_out;
    if (code < 0 || code == ISAL_NEED_DICT) {
      note_damage(describe_failure(code));
    } else if (state_.block_state == ISAL_BLOCK_FINISH) {
      take_back_input();
      in_stream_ = false;
    } else if (!has_input && produced == 0) {
      end_in_mid_stream();
    } else if (state_.avail_in == available && produced == 0) {
      note_damage(fmt::format("decoding makes no progress (state {})", int{code}));
    }
    return produced;
  }

  /// The decoder reads ahead into a register and keeps what lies behind a zlib trailer there.
  void take_back_input() {
    const auto count = static_cast<std::uint32_t>(state_.read_in_length / 8);
    state_.next_in -= count;
    state_.avail_in += count;
    std::memcpy(state_.next_in, &state_.read_in, count);
  }

  /// Into a small room the decoder works through a buffer of its own; what it had decoded before it
  /// met damage is still there.
  std::size_t take_decoded(std::span<char> into) {
    const std::size_t left =
        static_cast<std::size_t>(std::max(0, state_.tmp_out_valid - state_.tmp_out_processed));
    const std::size_t count = std::min(left, into.size());
    std::memcpy(into.data(), state_.tmp_out_buffer + state_.tmp_out_processed, count);
    state_.tmp_out_processed += static_cast<std::int32_t>(count);
    return count;
  }

  void end_in_mid_stream() {
    if (trailing_ == TrailingStreams::ignore_like_tensorflow) {
      ended_ = true;
    } else {
      note_damage("the file ends inside it; it was probably not written or copied to its end");
    }
  }

  /// Thrown by the next read, after what was decoded before it.
  void note_damage(std::string_view what) {
    damage_.message = fmt::format("{} stream {} is damaged near byte {} of the file: {}",
                                  to_string(compression_), streams_ - 1, input_offset(), what);
  }

  [[noreturn]] void give_up(std::string what) {
    damage_.message = fmt::format("{} (byte {} of the file)", what, input_offset());
    throw damage_;
  }

  std::unique_ptr<ByteSource> input_;
  const Compression compression_;
  const TrailingStreams trailing_;
  std::vector<char> buffer_;
  inflate_state state_{};
  GzipHeader header_;            // the current gzip member's
  std::uint64_t input_end_ = 0;  // bytes of the file read so far
  std::uint64_t streams_ = 0;    // begun so far
  bool in_stream_ = false;
  bool input_ended_ = false;
  bool ended_ = false;
  StreamDamage damage_;
};

}  // namespace

std::unique_ptr<ByteSource> make_inflate_source(std::unique_ptr<ByteSource> input,
                                                Compression compression,
                                                std::size_t input_block_bytes,
                                                TrailingStreams trailing) {
  return std::make_unique<InflateSource>(std::move(input), compression, input_block_bytes,
                                         trailing);
}

}  // namespace infeed::detail
