#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "infeed/records/compression.h"

/// Why: data of any kind (text, arrays, archives) is recognised by its first bytes, and files that
/// aren't read would otherwise pass for lines of garbage. Not meant to be used directly.
///
/// `front` has the file's first bytes, kDataFrontBytes of them if it is that long.
namespace infeed::detail {

inline constexpr std::size_t kDataFrontBytes = 32;

/// Recognises how a file of data is compressed. Never says zlib, since text may begin like it
/// ("x^2,..."), and data is hardly ever a zlib stream.
Compression recognise_data_compression(std::string_view front);

/// Throws failed_precondition where `front` is the begin of a file in a well-known format that isn't
/// read here (bzip2, Parquet...). Its bytes would pass for lines, or for damaged records.
void refuse_foreign_format(std::string_view front, const std::string& file);

}  // namespace infeed::detail
