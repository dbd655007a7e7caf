#pragma once

#include <cstddef>
#include <cstdint>

/// What an input may ask of the commands, on top of infeed/records/limits.h: each limit is checked
/// before anything of that size is allocated or printed. The table in records/README.md has them all.
namespace infeed::tools::limits {

/// A row of a text file that is converted (CSV, TSV, JSON lines). A file of zeros packs a thousand
/// times, and a row without an end would be unpacked into memory.
inline constexpr std::uint64_t text_row_bytes = std::uint64_t{64} << 20;

/// Values in a line of JSON; each takes about 60 bytes while the line is looked at.
inline constexpr std::size_t json_line_values = std::size_t{1} << 22;

/// Lines of a terminal that a picture is drawn in.
inline constexpr std::size_t picture_lines = 200;

}  // namespace infeed::tools::limits
