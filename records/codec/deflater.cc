#include "codec/deflater.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <string>
#include <utility>
#include <vector>

#include "infeed/error.h"

namespace infeed::detail {
namespace {

// ISA-L looks this far ahead, and one byte more is all that its first call may see of a stream, or
// of what follows a full flush. With more it takes the hash of the third byte from a register that
// it never set (2.30, igzip_icf_body_h1_gr_bt.asm, .write_first_byte: rcx, the address of its
// state), and at one address in 4,000 the compressed bytes are others. A call that sees one byte
// more than the look-ahead compresses just that byte and comes to no hash. With fewer until a flush
// all hashes are one.
constexpr std::size_t kFirstPieceBytes = ISAL_LOOK_AHEAD + 1;

}  // namespace

struct Deflater::State {
  isal_zstream stream;
  std::vector<std::uint8_t> level_buffer;
  std::vector<char> output;
  std::string first_piece;  ///< since the stream's begin or the last flush
  Sink sink;
};

Deflater::Deflater(Compression compression, int level, Sink sink)
    : state_(std::make_unique<State>()) {
  constexpr std::array<std::size_t, 4> kLevelBufferBytes = {
      0, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT};
  constexpr std::size_t kOutputBytes = std::size_t{256} << 10;
  if (level < 0 || level > 3) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("compression_level is {}, it goes from 0 (fastest) to 3 (smallest)", level));
  }
  state_->level_buffer.resize(kLevelBufferBytes.at(static_cast<std::size_t>(level)));
  state_->output.resize(kOutputBytes);
  state_->sink = std::move(sink);
  isal_zstream& stream = state_->stream;
  isal_deflate_init(&stream);
  stream.level = static_cast<std::uint32_t>(level);
  stream.level_buf = state_->level_buffer.data();
  stream.level_buf_size = static_cast<std::uint32_t>(state_->level_buffer.size());
  stream.gzip_flag = compression == Compression::gzip ? IGZIP_GZIP : IGZIP_ZLIB;
}

Deflater::~Deflater() = default;

void Deflater::run(std::string_view bytes) {
  isal_zstream& stream = state_->stream;
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<std::uint32_t>(bytes.size());
  do {
    stream.next_out = reinterpret_cast<std::uint8_t*>(state_->output.data());
    stream.avail_out = static_cast<std::uint32_t>(state_->output.size());
    const int code = isal_deflate(&stream);
    if (code != COMP_OK) {
      throw Error(ErrorCode::internal, fmt::format("compressing failed with code {}", code));
    }
    const std::size_t made = state_->output.size() - stream.avail_out;
    if (made != 0) state_->sink({state_->output.data(), made});
  } while (stream.avail_out == 0 || stream.avail_in != 0);
}

void Deflater::write(std::string_view bytes) {
  constexpr std::size_t kPieceBytesMax = std::size_t{1} << 30;
  bytes.remove_prefix(take_first_piece(bytes));
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPieceBytesMax);
    run(piece);
    bytes.remove_prefix(piece.size());
  }
}

std::size_t Deflater::take_first_piece(std::string_view bytes) {
  std::string& piece = state_->first_piece;
  const std::size_t taken = std::min(kFirstPieceBytes - piece.size(), bytes.size());
  if (taken == 0) return 0;
  piece.append(bytes.substr(0, taken));
  if (piece.size() == kFirstPieceBytes) run(piece);
  return taken;
}

void Deflater::give_short_first_piece() {
  std::string& piece = state_->first_piece;
  if (piece.size() < kFirstPieceBytes) run(piece);
  piece.clear();
}

void Deflater::flush_point() {
  give_short_first_piece();
  state_->stream.flush = FULL_FLUSH;
  run({});
  state_->stream.flush = NO_FLUSH;
}

void Deflater::finish() {
  give_short_first_piece();
  state_->stream.end_of_stream = 1;
  run({});
}

}  // namespace infeed::detail
