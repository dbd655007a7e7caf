#pragma once

#include <cstddef>
#include <cstdint>

/// Limits of the commands for their input, besides those of infeed/records/limits.h. Each is
/// checked before anything of that size is allocated or printed. The table in records/README.md has
/// them all.
namespace infeed::tools::limits {

/// A row of a text file that is converted (CSV, TSV, JSON lines). A file of zeros compresses a
/// thousandfold; without a limit its endless row would be unpacked into memory.
inline constexpr std::uint64_t text_row_bytes = std::uint64_t{64} << 20;

/// Stages of a recorded run, each of which may be compared with every other; and bytes and values of
/// a recording's line, which covers a tenth of a second. A value costs up to 100 bytes meanwhile; a
/// line of 8,192 steps or 10,000 stages has a tenth of them.
inline constexpr int recorded_stages = 10'000;
inline constexpr std::size_t recorded_line_bytes = std::size_t{16} << 20;
inline constexpr std::size_t recorded_line_values = std::size_t{1} << 20;

/// Steps of a recorded run, which take 100 bytes each, and steps that a pull is divided into. A row of
/// a loop that times no steps is a few dozen bytes and may claim any length and number of elements;
/// the engine hands over at most so many elements at once (kChunkElementsMax). Beyond so many steps a
/// pull stays one.
inline constexpr std::size_t recorded_steps = std::size_t{1} << 24;
inline constexpr std::uint64_t steps_of_pull = 1024;

/// Looks at windows and calls while a step waited, over all late steps of a recording. While steps
/// follow each other, each of a run's windows and calls is looked at a few times.
inline constexpr std::uint64_t looks_at_waits = 200'000'000;

/// Bytes of each name, label and text in the sentence of a late step; there may be as many
/// sentences as steps.
inline constexpr std::size_t sentence_name_bytes = 1000;

/// Batches of a recording that are replayed; a step may claim any number of elements.
inline constexpr std::size_t replayed_batches = std::size_t{1} << 24;

/// Examples of a global batch (--batch, --replay). Their bytes are counted in 64 bits.
inline constexpr std::int64_t global_batch = std::int64_t{1} << 32;

/// Lines of a terminal in which a picture is drawn.
inline constexpr std::size_t picture_lines = 200;

}  // namespace infeed::tools::limits
