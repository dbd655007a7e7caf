#include <memory>
#include <zstd.h>

#include "frames.h"
#include "records/codec/zstd_framed.h"

/// zstd files of any bytes: all blocks before damage are given, and the library agrees.
namespace infeed::fuzz {
namespace {

std::string compress(std::string_view bytes, std::uint8_t how) {
  return test::zstd(bytes, {.level = how % 8 + 1,
                            .has_checksum = (how & 8) != 0,
                            .has_size = (how & 16) != 0,
                            .window_log = (how & 32) != 0 ? 10 + how % 16 : 0});
}

std::optional<std::string> decompress_at_once(std::string_view bytes) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  std::string content;
  std::string room(std::size_t{1} << 20, '\0');
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::size_t left = 0;
  while (true) {
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0) return std::nullopt;
    content.append(room, 0, out.pos);
    if (in.pos == in.size && out.pos < out.size) break;
  }
  return left == 0 ? std::optional(content) : std::nullopt;
}

}  // namespace
}  // namespace infeed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infeed;
  fuzz::Input input(data, size);
  const std::string file = fuzz::file_of_frames(input, &fuzz::compress);
  if (!file.empty()) fuzz::check_frames(file, Compression::zstd, &fuzz::decompress_at_once);
  return 0;
}
