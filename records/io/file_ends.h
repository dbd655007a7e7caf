#pragma once

#include <cstdint>

#include "io/input_file.h"

/// Cheap checks that bind a file beside a data file to it.
namespace infeed::detail {

/// CRC-32C of the first and the last 4 KiB, one after the other.
std::uint32_t crc_of_ends(const InputFile& file, std::uint64_t size);

/// Returns the size of a file that must be regular (or lie at a URL). Throws failed_precondition
/// otherwise.
std::uint64_t require_regular(const InputFile& file);

}  // namespace infeed::detail
