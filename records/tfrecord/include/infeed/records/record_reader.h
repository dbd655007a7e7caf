#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/compression.h"
#include "infeed/records/record.h"
#include "infeed/records/url_options.h"

/// Why: reads one TFRecord file (or URL: url_options.h) from front to back at memory speed, checks
/// every byte, and never ends silently where data is missing.
///
///     infeed::RecordReader reader("train-00000-of-00016.tfrecord");
///     infeed::Record record;
///     while (reader.next(record)) use(record.bytes());
///
/// A record on disk is `u64le length | u32le masked CRC of the length | bytes | u32le masked CRC of
/// the bytes` (records/README.md). A file may be plain, or one or several gzip or zlib
/// streams, or LZ4 or zstd frames.
///
/// Outcomes of a reading call: records, the end (false or 0), or an infeed::Error. Errors name
/// file, offset and record; the records before the damage are handed out first. After an Error
/// about damage the file is over: later reading calls give the end. (An input/output error may be
/// tried again.) In a pipeline each of them is an element's error, and all of them end the file
/// (pipeline/records.h); how much that costs: lost_records.h.
///
/// Thread-safety: one thread at a time. Records outlive the reader.
namespace infeed {

namespace detail {
class MappedFiles;
}  // namespace detail

enum class Verify {
  everything,  ///< lengths and payloads
  lengths,     ///< payloads are taken as they are
};

/// The ways to deal with bytes that are not records.
enum class DamagePolicy {
  /// Throw, and end.
  fail,
  /// Note the range, tell `on_damage`, and go on with the next bytes that are a whole record by
  /// both checksums. Inside a damaged gzip, zlib or zstd stream nothing can be found again: its
  /// rest is one range. An LZ4 file of ours (records/lz4_format.md) goes on with its next block.
  skip_and_resynchronise,
  /// Does as TensorFlow's reader does: a cut inside a record's header, a missing gzip trailer and
  /// everything after the first zlib stream are a silent end; anything else fails.
  ///
  /// Two of TensorFlow's silent ends are no ends here, since they would lose or hide data. Behind an
  /// empty gzip member in the middle of a file the next member is read, as gunzip does. A single
  /// byte behind the last gzip member is an error, as two bytes are to TensorFlow. (A lone 0x1f
  /// begins a member that is cut: a silent end for both.)
  stop_like_tensorflow,
};

/// Bytes [begin, end) of a file were given up. In a compressed file they count decompressed bytes.
struct DamagedRange {
  std::string file;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  /// Number of the first record that is lost. Later numbers count one lost record for each range
  /// that has bytes.
  std::uint64_t record = 0;
  std::string message;
};

struct RecordReaderOptions {
  Compression compression = Compression::automatic;
  Verify verify = Verify::everything;
  DamagePolicy damage = DamagePolicy::fail;
  /// It is called from inside the reading call. What it throws passes through; the file goes on
  /// after it.
  std::function<void(const DamagedRange&)> on_damage = {};
  /// Bytes read at once. 512 KiB mostly stay in the second-level cache between read and checksum.
  std::size_t block_bytes = std::size_t{512} << 10;
  /// A longer record is damage: a limit on what a file can make the reader allocate.
  std::uint64_t record_bytes_max = std::uint64_t{1} << 31;
  /// How the file is read where it is named by a URL.
  UrlOptions url = {};
  /// Keep the file mapped, if it is plain and on a disk, so that its bytes are used where they lie
  /// in the page cache. Null: it is read. RecordsOptions::map_files says what that is good for.
  std::shared_ptr<detail::MappedFiles> mapped_files = {};
};

struct RecordPosition {
  std::uint64_t record = 0;
  /// The place of the record's header, in decompressed bytes.
  std::uint64_t offset = 0;
  bool operator==(const RecordPosition&) const = default;
};

class RecordReader {
 public:
  /// Opens the file, by path or URL. Throws not_found, permission_denied, invalid_argument (a
  /// folder), or data_loss.
  explicit RecordReader(const std::string& file, RecordReaderOptions options = {});
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;
  ~RecordReader();

  /// Fills the front of `out` with what is at hand, at least one record; 0 is the end. Records come
  /// a block at a time, so a slow source holds nothing back.
  std::size_t read(std::span<Record> out);
  /// False is the end; `out` is then untouched.
  bool next(Record& out);

  /// Passes over up to `count` records; returns how many there were. Lengths are verified, payloads
  /// are not (a plain file's are not even read when they are large).
  std::uint64_t skip(std::uint64_t count);

  /// The record that comes next.
  RecordPosition position() const;
  /// Goes to a position that was taken from a reader of the same file, or from an index. Plain
  /// files only; throws failed_precondition otherwise. Also revives a reader that has ended.
  void seek(RecordPosition position);
  /// Goes to a record that somebody else has found in this file, at or behind position(): by seek(), or
  /// past all records before it. Throws data_loss where it is not there: the file has changed.
  void continue_at(RecordPosition position);

  /// The file as it was named; a URL comes without its signature.
  const std::string& file() const;
  /// Returns the compression that was recognised; never automatic.
  Compression compression() const;
  /// Size of the file as it lies on disk or at its URL; nothing for a pipe.
  std::optional<std::uint64_t> file_bytes() const;
  /// The ledger of skip_and_resynchronise, in the order of the file. It holds
  /// limits::damaged_ranges; one more is an Error about damage.
  const std::vector<DamagedRange>& damaged() const;
  /// Payload bytes that were hashed so far, by searches behind damage too. However a file is
  /// damaged, even on purpose, that is at most about 13 times its size.
  std::uint64_t bytes_hashed() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// How many records the file holds, without reading large payloads.
std::uint64_t count_records(const std::string& file, RecordReaderOptions options = {});

}  // namespace infeed
