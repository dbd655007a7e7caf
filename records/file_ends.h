#pragma once

#include <cstdint>

#include "infeed/records/file.h"

/// What binds a file beside a data file to it, cheaply.
namespace infeed::detail {

/// CRC-32C of the first and the last 4 KiB, one after the other.
std::uint32_t crc_of_ends(const File& file, std::uint64_t size);

/// Size of a file that must be a regular one; failed_precondition otherwise.
std::uint64_t require_regular(const File& file);

}  // namespace infeed::detail
