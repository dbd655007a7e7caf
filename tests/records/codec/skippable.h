#pragma once

#include "records/tfrecord/framed.h"

namespace infeed::test {

/// A frame of other data, which readers of zstd and LZ4 pass over.
inline std::string skippable_frame(const std::string& content, std::uint32_t magic = 0x184d2a50) {
  return little(magic) + little(static_cast<std::uint32_t>(content.size())) + content;
}

}  // namespace infeed::test
