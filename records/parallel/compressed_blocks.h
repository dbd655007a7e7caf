#pragma once

#include <memory>
#include <string>

#include "infeed/records/detail/record_blocks.h"

namespace infeed::detail {

/// From the first record on: by segments, which several threads decompress, where the file has
/// them; else what one thread after the other decompresses.
std::shared_ptr<BlockFile> open_compressed_blocks(const std::string& file,
                                                  const BlockFileOptions& options);

}  // namespace infeed::detail
