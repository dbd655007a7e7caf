#pragma once

#include <memory>
#include <string>

#include "infeed/records/detail/record_blocks.h"

namespace infeed::detail {

/// Opens a file from its first record on. Several threads decompress its segments where it has
/// them; otherwise one thread after the other decompresses.
std::shared_ptr<BlockFile> open_compressed_blocks(const std::string& file,
                                                  const BlockFileOptions& options);

}  // namespace infeed::detail
