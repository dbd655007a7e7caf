#include <memory>
#include <utility>
#include <vector>
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

/// Gives the library a byte after the other: a frame that it gets whole it reads in another way, which
/// refuses an empty block that claims to be compressed.
std::optional<std::string> decompress_by_library(std::string_view bytes) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  std::string content;
  std::string room(std::size_t{1} << 20, '\0');
  ZSTD_inBuffer in{bytes.data(), 0, 0};
  std::size_t left = 0;
  while (true) {
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0) return std::nullopt;
    content.append(room, 0, out.pos);
    if (in.pos != in.size || out.pos == out.size) continue;
    if (in.size == bytes.size()) break;
    ++in.size;
  }
  return left == 0 ? std::optional(content) : std::nullopt;
}

/// Returns the file with a table of its frames, as far as the library finds any.
std::string with_table(std::string_view file) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;
  std::size_t end = 0;
  while (end != file.size()) {
    const std::string_view left = file.substr(end);
    const std::size_t stored = ZSTD_findFrameCompressedSize(left.data(), left.size());
    if (ZSTD_isError(stored) != 0) break;
    const auto content = decompress_by_library(left.substr(0, stored));
    sizes.emplace_back(stored, content ? content->size() : 0);
    end += stored;
  }
  return std::string(file.substr(0, end)) + test::seek_table(sizes, sizes.size() % 2 == 0);
}

/// Checks that threads ahead, which the table allows, change no byte and no text.
void check_threads_ahead(const std::string& bytes) {
  const MemoryFile memory;
  const std::string file = memory.write(bytes);
  const std::size_t block_bytes = std::size_t{256} << 10;
  const Decompressed alone = decompress(file, Compression::zstd, block_bytes, 70'000);
  const Decompressed ahead = decompress(file, Compression::zstd, block_bytes, 70'000,
                                        {.threads = 2, .bytes_max = std::uint64_t{64} << 20});
  if (!alone.is_whole || !ahead.is_whole) return;
  require(alone.bytes == ahead.bytes, "threads ahead change no byte");
  require(alone.damage == ahead.damage, "threads ahead change no text");
}

}  // namespace

void check(Input input) {
  const std::string file = file_of_frames(input, &compress);
  if (file.empty()) return;
  check_frames(file, Compression::zstd, &decompress_by_library);
  std::string with_table = fuzz::with_table(file);
  check_threads_ahead(with_table);
  with_table[file.size() / 2 % with_table.size()] ^= 1;  // damage before a good table
  check_threads_ahead(with_table);
}

}  // namespace infeed::fuzz
