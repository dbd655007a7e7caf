#include <lz4frame.h>
#include <memory>

#include "frames.h"
#include "records/codec/lz4_framed.h"

/// LZ4 frames of any bytes, ours and those of others: all blocks before damage are given, and the
/// library agrees.
namespace infeed::fuzz {
namespace {

std::string compress(std::string_view bytes, std::uint8_t how) {
  if ((how & 1) != 0) {
    const std::size_t half = bytes.size() / 2;
    return test::lz4_file({std::string(bytes.substr(0, half)), std::string(bytes.substr(half))},
                          {1, 1});
  }
  return test::lz4_frame(bytes, (how & 2) != 0 ? LZ4F_blockLinked : LZ4F_blockIndependent,
                         (how & 4) != 0 ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum,
                         (how & 8) != 0);
}

std::optional<std::string> decompress_at_once(std::string_view bytes) {
  LZ4F_dctx* made = nullptr;
  LZ4F_createDecompressionContext(&made, LZ4F_VERSION);
  const std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)> context(
      made, &LZ4F_freeDecompressionContext);
  std::string content;
  std::string room(std::size_t{1} << 20, '\0');
  std::size_t left = 0;
  while (true) {
    std::size_t taken = bytes.size();
    std::size_t got = room.size();
    left = LZ4F_decompress(context.get(), room.data(), &got, bytes.data(), &taken, nullptr);
    if (LZ4F_isError(left) != 0) return std::nullopt;
    content.append(room, 0, got);
    bytes.remove_prefix(taken);
    if (bytes.empty() && got < room.size()) break;
  }
  return left == 0 ? std::optional(content) : std::nullopt;
}

}  // namespace

void check(Input input) {
  const std::string file = file_of_frames(input, &compress);
  if (!file.empty()) check_frames(file, Compression::lz4, &decompress_at_once);
}

}  // namespace infeed::fuzz
