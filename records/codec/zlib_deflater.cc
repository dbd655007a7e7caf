#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <new>
#include <utility>
#include <vector>
#include <zlib.h>

#include "codec/deflater.h"
#include "infeed/error.h"

namespace infeed::detail {
namespace {

class ZlibDeflater final : public Deflater {
 public:
  ZlibDeflater(Compression compression, int level, Sink sink)
      : output_(kOutputBytes), sink_(std::move(sink)) {
    constexpr int kWindowBits = 15;
    constexpr int kGzip = 16;
    constexpr int kMemoryLevel = 8;
    const int code = ::deflateInit2(&stream_, level, Z_DEFLATED,
                                    kWindowBits + (compression == Compression::gzip ? kGzip : 0),
                                    kMemoryLevel, Z_DEFAULT_STRATEGY);
    if (code != Z_OK) throw std::bad_alloc();
  }
  ~ZlibDeflater() override { ::deflateEnd(&stream_); }
  ZlibDeflater(const ZlibDeflater&) = delete;
  ZlibDeflater& operator=(const ZlibDeflater&) = delete;

  void write(std::string_view bytes) override {
    constexpr std::size_t kPieceBytesMax = std::size_t{1} << 30;
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kPieceBytesMax);
      run(piece, Z_NO_FLUSH);
      bytes.remove_prefix(piece.size());
    }
  }
  void flush_point() override { run({}, Z_FULL_FLUSH); }
  void finish() override { run({}, Z_FINISH); }

 private:
  static constexpr std::size_t kOutputBytes = std::size_t{256} << 10;

  void run(std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      const int code = ::deflate(&stream_, flush);
      if (code == Z_STREAM_ERROR) {
        throw Error(ErrorCode::internal, fmt::format("compressing failed with code {}", code));
      }
      const std::size_t made = output_.size() - stream_.avail_out;
      if (made != 0) sink_({output_.data(), made});
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::vector<char> output_;
  const Sink sink_;
};

}  // namespace

std::unique_ptr<Deflater> make_zlib_deflater(Compression compression, int level,
                                             Deflater::Sink sink) {
  return std::make_unique<ZlibDeflater>(compression, level, std::move(sink));
}

}  // namespace infeed::detail
