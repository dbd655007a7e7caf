#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "infeed/error.h"
#include "infeed/records/compression.h"
#include "infeed/records/record_reader.h"

/// Why: whoever gives up a part of a damaged file must say how much that is. How many records lie
/// there is known only where something that was written with the file says it: NAME.index beside a
/// plain one, the index inside an LZ4 file, NAME.points beside a gzip file.
///
/// Errors: none; what can't be found out stays empty. An index is believed when its size of the
/// file is right and the damaged record begins where it says.
/// Thread-safety: any threads at once.
namespace infeed {

/// Counts what is lost with the damaged record at `position` when all behind it is given up.
/// `file_bytes`: RecordReader::file_bytes().
Lost count_rest(const std::string& file, Compression compression,
                std::optional<std::uint64_t> file_bytes, RecordPosition position);

/// Records that begin in bytes [begin, end) of a plain file.
std::optional<std::uint64_t> count_records_between(const std::string& file,
                                                   std::uint64_t file_bytes, std::uint64_t begin,
                                                   std::uint64_t end);

/// Returns how many records the numbers of a file count for its damaged ranges: one each, but none for
/// a range without bytes, as where a trailer is missing.
std::uint64_t records_numbered_as_lost(std::span<const DamagedRange> damaged);

}  // namespace infeed
