#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>
#include <zstd.h>

#include "records/codec/skippable.h"

/// zstd frames made by the library, which we don't write.
namespace infeed::test {

/// Returns text that compresses well.
inline std::string some_text(std::size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string text;
  while (text.size() < bytes) text += "word" + std::to_string(random() % 5000) + ' ';
  text.resize(bytes);
  return text;
}

struct ZstdFrame {
  int level = 3;
  bool has_checksum = true;
  bool has_size = true;
  int window_log = 0;  ///< 0: the library's choice
};

inline std::string zstd(std::string_view bytes, const ZstdFrame& frame = {}) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  const auto set = [&context](ZSTD_cParameter parameter, int value) {
    if (ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), parameter, value)) != 0) {
      throw std::runtime_error("ZSTD_CCtx_setParameter");
    }
  };
  set(ZSTD_c_compressionLevel, frame.level);
  set(ZSTD_c_checksumFlag, frame.has_checksum ? 1 : 0);
  set(ZSTD_c_contentSizeFlag, frame.has_size ? 1 : 0);
  if (frame.window_log != 0) set(ZSTD_c_windowLog, frame.window_log);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) throw std::runtime_error("ZSTD_compress2");
  out.resize(size);
  return out;
}

/// Makes the table at the end of zstd's seekable format, from the compressed and the decompressed
/// size of each frame. Nobody reads the checksums.
inline std::string seek_table(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& frames,
                              bool has_checksums = false) {
  std::string content;
  for (const auto& [stored, decompressed] : frames) {
    content += little(stored) + little(decompressed);
    if (has_checksums) content += little(std::uint32_t{0});
  }
  content += little(static_cast<std::uint32_t>(frames.size())) +
             static_cast<char>(has_checksums ? 0x80 : 0) + little(std::uint32_t{0x8f92eab1});
  return skippable_frame(content, 0x184d2a5e);
}

/// Compresses each `frame_bytes` of a text by themselves.
inline std::string seekable_zstd(std::string_view bytes, std::size_t frame_bytes,
                                 bool has_checksums = false) {
  std::string file;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(frame_bytes, bytes.size()))) {
    const std::string frame = zstd(bytes.substr(0, frame_bytes));
    sizes.emplace_back(frame.size(), std::min(frame_bytes, bytes.size()));
    file += frame;
  }
  return file + seek_table(sizes, has_checksums);
}

}  // namespace infeed::test
