#pragma once

#include <memory>
#include <string>
#include <vector>

#include "infeed/records/detail/record_blocks.h"
#include "parallel/segment_source.h"

namespace infeed::detail {

/// Opens a file by its segments, from the first one that ends behind `begin` on. A gzip file, which has
/// one checksum for the whole file, must begin at its first segment.
std::shared_ptr<BlockFile> make_segment_blocks(const std::string& file, RecordPosition begin,
                                               const BlockFileOptions& options,
                                               std::vector<Segment> segments);

/// Opens a file from its first record on. Several threads decompress its segments where it has
/// them; otherwise one thread after the other decompresses.
std::shared_ptr<BlockFile> open_compressed_blocks(const std::string& file,
                                                  const BlockFileOptions& options);

}  // namespace infeed::detail
