#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/detail/threads_ahead.h"
#include "io/byte_source.h"
#include "parallel/segment_source.h"

/// Files in zstd's seekable format: frames that stand alone, and a table of their sizes at the end.
/// The table is only a hint: where it is wrong, or a frame is damaged, make_zstd_source() takes over,
/// and reports what it finds. So nobody sees another byte or error than without threads.
namespace infeed::detail {

/// Returns the frames of a local file by its table; none where it has less than two, or no table, or
/// one that can't be right. Never throws because of the file.
std::vector<Segment> find_zstd_frames(const std::string& file);

/// Decompresses a local file's frames on the threads ahead. Null where it has no table, or `ahead`
/// allows less than two threads.
std::unique_ptr<ByteSource> make_zstd_frames_source(const std::string& file,
                                                    std::size_t input_block_bytes,
                                                    const ThreadsAhead& ahead);

}  // namespace infeed::detail
