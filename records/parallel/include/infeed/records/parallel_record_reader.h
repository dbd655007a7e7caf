#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/record_reader.h"
#include "infeed/records/spare_blocks.h"

/// Why: one file, several cores. Gives exactly the records, order, numbers, errors and damaged
/// ranges that RecordReader gives. Its own threads decode while you use the records.
///
///     infeed::ParallelRecordReader reader("train-00000-of-00016.tfrecord");
///     infeed::Record record;
///     while (reader.next(record)) use(record.bytes());
///
/// | file                     | how it is shared                                                  |
/// |--------------------------|-------------------------------------------------------------------|
/// | plain                    | in blocks; going from header to header is done in turn            |
/// | lz4                      | at blocks, by the index inside it                                 |
/// | gzip with NAME.points    | at its flush points (RecordWriterOptions::flush_point_bytes)      |
/// | other gzip, zlib, zstd, a pipe | not: one thread decodes ahead                               |
/// | a URL                    | not: the same, while several ranges are fetched at once           |
///
/// Flush points beside the data are only a hint: where they are wrong, or the data is damaged, a
/// RecordReader takes over, to the end of a gzip file or of another file's block. So a wrong hint
/// costs time and never a record.
///
/// Errors: those of RecordReader; after one the file is over. `on_damage` is called from inside the
/// reading call.
/// Thread-safety: one thread at a time. Records outlive the reader.
namespace infeed {

struct ParallelRecordReaderOptions {
  /// Calls the function that it is given, once, and must not throw.
  using Around = std::function<void(const std::function<void()>& work)>;

  RecordReaderOptions reader = {};
  unsigned threads = 0;  ///< 0: as many as there are cores
  /// Decompressed bytes that one thread decodes at a time; at most reader.block_bytes. Segments of a
  /// compressed file may be longer, and so may blocks that would hold only few records.
  std::uint64_t segment_bytes = std::uint64_t{1} << 20;
  /// Decompressed bytes that are decoded and not yet taken, about; at least a segment a thread.
  /// Threads that don't work now (threads_now) leave out their share. 0: two segments a thread,
  /// which read 2 KB records from the page cache at 4.9 million a second with two threads. With one
  /// segment each they read 4.2 million, and with eight or more, which no cache holds, 4.4.
  std::uint64_t read_ahead_bytes = 0;
  /// Blocks to share with the readers before and after this one (spare_blocks.h); may be null.
  std::shared_ptr<SpareBlocks> spare_blocks = {};
  /// Called first by each of the reader's threads, with the name "reader". Must not throw.
  std::function<void(std::string_view)> on_thread_start = {};
  /// Number of `threads` that work from now on. It may change at any time, and is looked at once a
  /// segment. The other threads end. At 0 the reading call itself reads a plain file; any other
  /// file keeps one thread. Null: all threads work.
  std::shared_ptr<const std::atomic<unsigned>> threads_now = {};
  /// For accounts of time: each of the reader's threads decodes inside the first function, and the
  /// reading call waits for them inside the second.
  Around around_decoding = {};
  Around around_waiting = {};
};

class ParallelRecordReader {
 public:
  explicit ParallelRecordReader(std::string file, ParallelRecordReaderOptions options = {});
  ParallelRecordReader(ParallelRecordReader&&) noexcept;
  ParallelRecordReader& operator=(ParallelRecordReader&&) noexcept;
  /// Ends the threads.
  ~ParallelRecordReader();

  /// Fills the front of `out` with the records at hand, at least one. Returns 0 at the end.
  std::size_t read(std::span<Record> out);
  /// Returns false at the end; `out` is then untouched.
  bool next(Record& out);

  /// Skips as RecordReader::skip does. Before the first record is read it costs as much as there,
  /// and threads begin behind the skipped records; a gzip file is then read by one thread, since
  /// its checksum covers the whole file. Later the records are read and dropped.
  std::uint64_t skip(std::uint64_t count);
  /// Records handed out or passed over so far, also those before an error.
  std::uint64_t records_passed() const;

  const std::string& file() const;
  Compression compression() const;
  /// File size and damaged ranges, as in RecordReader.
  std::optional<std::uint64_t> file_bytes() const;
  const std::vector<DamagedRange>& damaged() const;
  /// Says how the file is split ("split at its flush points") or why it isn't, for people who wonder
  /// about a speed.
  const std::string& how() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace infeed
