#pragma once

#include <cstddef>
#include <cstdint>

#include <infeed/pipeline/chunk.h>

namespace infeed {

/// When a stage that collects elements hands over what it has rather than waits for more: 100 us
/// after it began, or, told the chunk, as soon as what its elements own elsewhere comes to 64 KiB.
/// The number that a pull asks for goes by the elements of late, and large ones may stand among small
/// ones. A look costs 10 ns.
class HandOver {
 public:
  HandOver();
  explicit HandOver(const Chunk& out);
  bool is_due();

 private:
  const std::uint64_t due_ticks_;
  const Chunk* const out_;
  std::size_t looked_at_ = 0;  ///< elements of the chunk
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace infeed
