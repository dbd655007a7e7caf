#pragma once

#include <memory>

#include "infeed/records/file.h"
#include "io/byte_source.h"

namespace infeed::detail {

enum class DirectReads {
  any,      ///< io_uring, or else threads
  threads,  ///< for tests of what happens without io_uring
};

/// A regular file's bytes past the page cache (O_DIRECT), several reads ahead. Where the file
/// system knows no such reads, the same through the page cache. The file must not be read by others
/// through this descriptor.
std::unique_ptr<ByteSource> make_direct_source(File file, DirectReads reads = DirectReads::any);

}  // namespace infeed::detail
