#include "io/direct/block_reads.h"

/// In place of uring_reads.cc where INFEED_URING is OFF: threads read instead.
namespace infeed::detail {

std::unique_ptr<BlockReads> make_uring_reads(int, std::size_t) { return nullptr; }

}  // namespace infeed::detail
