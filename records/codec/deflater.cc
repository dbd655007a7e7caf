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

class IsalDeflater final : public Deflater {
 public:
  IsalDeflater(Compression compression, int level, Sink sink);
  IsalDeflater(const IsalDeflater&) = delete;  // ISA-L's state points into itself
  IsalDeflater& operator=(const IsalDeflater&) = delete;

  void write(std::string_view bytes) override;
  void flush_point() override;
  void finish() override;

 private:
  void run(std::string_view bytes);
  std::size_t take_first_piece(std::string_view bytes);
  void give_short_first_piece();

  isal_zstream stream_{};
  std::vector<std::uint8_t> level_buffer_;
  std::vector<char> output_;
  std::string first_piece_;  ///< since the stream's begin or the last flush
  const Sink sink_;
};

IsalDeflater::IsalDeflater(Compression compression, int level, Sink sink) : sink_(std::move(sink)) {
  constexpr std::array<std::size_t, 4> kLevelBufferBytes = {
      0, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT};
  constexpr std::size_t kOutputBytes = std::size_t{256} << 10;
  level_buffer_.resize(kLevelBufferBytes.at(static_cast<std::size_t>(level)));
  output_.resize(kOutputBytes);
  isal_deflate_init(&stream_);
  stream_.level = static_cast<std::uint32_t>(level);
  stream_.level_buf = level_buffer_.data();
  stream_.level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
  stream_.gzip_flag = compression == Compression::gzip ? IGZIP_GZIP : IGZIP_ZLIB;
}

void IsalDeflater::run(std::string_view bytes) {
  stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
  stream_.avail_in = static_cast<std::uint32_t>(bytes.size());
  do {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(output_.data());
    stream_.avail_out = static_cast<std::uint32_t>(output_.size());
    const int code = isal_deflate(&stream_);
    if (code != COMP_OK) {
      throw Error(ErrorCode::internal, fmt::format("compressing failed with code {}", code));
    }
    const std::size_t made = output_.size() - stream_.avail_out;
    if (made != 0) sink_({output_.data(), made});
  } while (stream_.avail_out == 0 || stream_.avail_in != 0);
}

void IsalDeflater::write(std::string_view bytes) {
  constexpr std::size_t kPieceBytesMax = std::size_t{1} << 30;
  bytes.remove_prefix(take_first_piece(bytes));
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPieceBytesMax);
    run(piece);
    bytes.remove_prefix(piece.size());
  }
}

std::size_t IsalDeflater::take_first_piece(std::string_view bytes) {
  const std::size_t taken = std::min(kFirstPieceBytes - first_piece_.size(), bytes.size());
  if (taken == 0) return 0;
  first_piece_.append(bytes.substr(0, taken));
  if (first_piece_.size() == kFirstPieceBytes) run(first_piece_);
  return taken;
}

void IsalDeflater::give_short_first_piece() {
  if (first_piece_.size() < kFirstPieceBytes) run(first_piece_);
  first_piece_.clear();
}

void IsalDeflater::flush_point() {
  give_short_first_piece();
  stream_.flush = FULL_FLUSH;
  run({});
  stream_.flush = NO_FLUSH;
}

void IsalDeflater::finish() {
  give_short_first_piece();
  stream_.end_of_stream = 1;
  run({});
}

}  // namespace

std::unique_ptr<Deflater> make_isal_deflater(Compression compression, int level,
                                             Deflater::Sink sink) {
  return std::make_unique<IsalDeflater>(compression, level, std::move(sink));
}

std::unique_ptr<Deflater> make_deflater(Compression compression, int level, Deflater::Sink sink) {
  constexpr int kIsalLevelMax = 3;
  constexpr int kZlibLevelMax = 9;
  if (level < 0 || level > kZlibLevelMax) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("compression_level is {}, it goes from 0 (fastest) to 9 (smallest)", level));
  }
  return level <= kIsalLevelMax ? make_isal_deflater(compression, level, std::move(sink))
                                : make_zlib_deflater(compression, level, std::move(sink));
}

}  // namespace infeed::detail
