#pragma once

#include <cstddef>
#include <cstdint>

#include <infeed/pipeline/chunk.h>

namespace infeed {

/// Decides when a stage that collects elements hands over those it has instead of waiting for more.
/// That is 100 us after it began or, if it was given the chunk, as soon as the elements own 64 KiB
/// elsewhere. (A pull asks for a number of elements that fits the recent ones, but a few large ones
/// may stand among small ones.) A call of is_due() costs 10 ns.
class HandOver {
 public:
  HandOver();
  explicit HandOver(const Chunk& out);
  bool is_due();

 private:
  const std::uint64_t due_ticks_;
  const Chunk* const out_;
  std::size_t looked_at_ = 0;  ///< elements of the chunk already counted
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace infeed
