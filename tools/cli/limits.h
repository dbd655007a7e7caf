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

/// Stages of a recorded run, of which each may be asked about every other one; and bytes of a line of
/// a recording, which is a tenth of a second.
inline constexpr int recorded_stages = 10'000;
inline constexpr std::size_t recorded_line_bytes = std::size_t{16} << 20;

/// Looks at what went on while a step waited, over all late steps of a recording: as long as steps
/// follow each other, each of a run's windows and calls is looked at a few times.
inline constexpr std::uint64_t looks_at_waits = 200'000'000;

/// Bytes of each name, label and text in the sentence of a late step, of which there may be as many as
/// steps.
inline constexpr std::size_t sentence_name_bytes = 1000;

/// Batches of a recording that are replayed, as which a step may count any number of elements.
inline constexpr std::size_t replayed_batches = std::size_t{1} << 24;

/// Lines of a terminal that a picture is drawn in.
inline constexpr std::size_t picture_lines = 200;

}  // namespace infeed::tools::limits
