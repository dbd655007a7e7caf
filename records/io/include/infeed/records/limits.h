#pragma once

#include <cstddef>
#include <cstdint>

#include "infeed/error.h"

/// What a file, a server or a name may ask of the readers in records, each checked before anything of
/// that size is allocated or walked through. Data sets come from elsewhere, and a few bytes can claim
/// any number; what goes beyond a limit is an Error that names the limit. Limits that a caller may
/// want to move are options of their reader instead (RecordReaderOptions::record_bytes_max,
/// CsvOptions::row_bytes_max, TarOptions::member_bytes_max); these here are far from what honest data
/// needs. The table of both is in records/README.md.
///
///     static_assert(infeed::limits::json_depth == 100);
namespace infeed::limits {

/// Objects and arrays in each other, in every JSON that is read: lines, manifests, journals, plans,
/// schemas and answers of servers. Levels cost stack where values are copied, shown or freed.
inline constexpr int json_depth = 100;

/// Columns that lines of JSON have, and the bytes of their names ("outer.inner": each repeats the names
/// of the objects around it, so that a line of 1 MB could have names of GBs). A column costs hundreds
/// of bytes before its first value. What looks for the names in records (convert, inspect, infer_schema) has as
/// many, of all shards of a set together.
inline constexpr std::size_t json_columns = std::size_t{1} << 16;
inline constexpr std::size_t json_names_bytes = std::size_t{16} << 20;

/// Rows of an NPY array that have no values, as of shape (n, 0): they take no bytes of the file, so
/// that its size says nothing of how many there are.
inline constexpr std::int64_t npy_empty_rows = std::int64_t{1} << 24;

/// Fields in a row of CSV, of which each costs tens of bytes while it is looked at.
inline constexpr std::size_t csv_row_fields = std::size_t{1} << 20;

/// Damaged ranges that are noted of a file; with one more, reading it fails. Each is a line of text.
inline constexpr std::size_t damaged_ranges = std::size_t{1} << 16;

/// Decompressed bytes between two places of an index, of flush points or of LZ4 blocks, with which one
/// thread would begin. What lies beside a file may claim that all of it is one piece; where a piece is
/// larger, the file is read from the front instead.
inline constexpr std::uint64_t segment_bytes = std::uint64_t{64} << 20;

/// Arrays of one NPZ file that are read at once. Each that is compressed has an open file of its own
/// with its decompressed copy, of which a process usually may have 1024.
inline constexpr std::size_t npz_arrays = 900;

/// Names that a pattern of shards stands for, and pages of a bucket's list, of up to 1,000 names.
inline constexpr std::size_t shard_names = 99'999;
inline constexpr std::size_t listed_pages = 10'000;

/// Bytes of a whole file by URL (a manifest, an index) that are asked for at once: what a server
/// claims that more is there costs nothing until it comes.
inline constexpr std::size_t url_step_bytes = std::size_t{8} << 20;

/// Bytes up to which a local file that has holes is read whole (a manifest, a journal, an index): one
/// that takes nothing on the disk may claim any size. Those without holes have no limit.
inline constexpr std::uint64_t sparse_file_bytes = std::uint64_t{64} << 20;

}  // namespace infeed::limits
