#pragma once

#include <memory>
#include <stdexcept>
#include <zstd.h>

#include "records/codec/skippable.h"

/// zstd frames made by the library, which we don't write.
namespace infeed::test {

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

}  // namespace infeed::test
