#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace infeed::detail {

/// Counters of sources that give records up (records.h says which), in kDroppedCounts' order.
enum DroppedCount : std::size_t { kDroppedRecords, kDroppedBytes };
inline constexpr std::array<std::string_view, 2> kDroppedCounts{"dropped_records", "dropped_bytes"};

/// "dropped by records: 3 records, 60 bytes", where there were some; without what is 0.
std::string dropped_text(std::string_view label, std::span<const std::uint64_t> counts);

}  // namespace infeed::detail
