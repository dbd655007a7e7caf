#pragma once

#include <cstdint>
#include <string_view>

#include "infeed/detail/late_copy.h"

namespace infeed::detail {

/// As crc32c(), and does what was left to `late`, which copies from `bytes` or has nothing left: in
/// one pass, where the CPU can (crc32c_folded.h).
std::uint32_t crc32c_copying(std::string_view bytes, LateCopy& late) noexcept;

}  // namespace infeed::detail
