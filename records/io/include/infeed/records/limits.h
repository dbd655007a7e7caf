#pragma once

#include <cstddef>
#include <cstdint>

#include "infeed/error.h"

/// The most that a file, a server or a name may ask of the readers in records. Each limit is
/// checked before anything of that size is allocated or walked through: data sets come from
/// elsewhere, and a few bytes can claim any number. An Error names the limit that was passed.
/// Limits that a caller may want to move are options of their reader instead
/// (RecordReaderOptions::record_bytes_max, CsvOptions::row_bytes_max,
/// TarOptions::member_bytes_max). The limits here are far above what honest data needs. The table
/// of both is in records/README.md.
///
///     static_assert(infeed::limits::json_depth == 100);
namespace infeed::limits {

/// Objects and arrays nested in each other, in every JSON that is read: lines, manifests, journals,
/// plans, schemas and answers of servers. Levels cost stack where values are copied, shown or
/// freed.
inline constexpr int json_depth = 100;

/// Columns in lines of JSON, and the bytes of their names. "outer.inner" repeats the names of the
/// objects around it, so a line of 1 MB could have names of GBs. A column costs hundreds of bytes
/// before its first value. Searches for names in records (convert, inspect, infer_schema) have the
/// same limit for all shards of a set together, and headers of CSV have it where no schema chooses.
inline constexpr std::size_t json_columns = std::size_t{1} << 16;
inline constexpr std::size_t json_names_bytes = std::size_t{16} << 20;

/// Values in a line of JSON that is taken apart without a schema (convert, inferring one), and in a
/// JSON that is read whole (manifests, plans, schemas). Each costs tens of bytes meanwhile.
inline constexpr std::size_t json_line_values = std::size_t{1} << 22;

/// Rows of an NPY array that have no values, as in shape (n, 0). They take no bytes, so the file's
/// size says nothing of their number.
inline constexpr std::int64_t npy_empty_rows = std::int64_t{1} << 24;

/// Fields in a row of CSV. Each costs tens of bytes while the row is looked at.
inline constexpr std::size_t csv_row_fields = std::size_t{1} << 20;

/// Damaged ranges noted for one file, each a line of text. One more, and reading the file fails.
inline constexpr std::size_t damaged_ranges = std::size_t{1} << 16;

/// Decompressed bytes between two places of an index, of flush points or of LZ4 blocks, where one
/// thread would begin. A file beside the data may claim that all of it is one piece; with a larger
/// piece the data file is read from the front instead.
inline constexpr std::uint64_t segment_bytes = std::uint64_t{64} << 20;

/// The base-2 logarithm of the largest window of a zstd frame: 128 MiB, as zstd's own programs take
/// without being told. A header of 6 bytes may ask for gigabytes.
inline constexpr int zstd_window_log = 27;

/// Arrays of one NPZ file that are read at once. Each compressed array has an open file with its
/// decompressed copy, and a process may usually have 1024 open files.
inline constexpr std::size_t npz_arrays = 900;

/// Bytes that deflate makes of one at most. A member of an NPZ file, or an image, that claims more is
/// refused before it is decompressed.
inline constexpr std::uint64_t deflate_bytes_of_byte = 1032;

/// Names that a pattern of shards stands for, and pages of a bucket's list, each of up to 1,000
/// names.
inline constexpr std::size_t shard_names = 99'999;
inline constexpr std::size_t listed_pages = 10'000;

/// Bytes of a whole file by URL (a manifest, an index) that are asked for at once. A server's claim
/// of a larger file costs nothing until the bytes come.
inline constexpr std::size_t url_step_bytes = std::size_t{8} << 20;

/// Bytes up to which a local file with holes is read whole (a manifest, a journal, an index): a
/// file that takes nothing on the disk may claim any size. Files without holes have no limit.
inline constexpr std::uint64_t sparse_file_bytes = std::uint64_t{64} << 20;

}  // namespace infeed::limits
