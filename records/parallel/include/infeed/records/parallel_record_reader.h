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

/// Why: one file, several cores. Gives exactly what RecordReader gives (records, order, numbers,
/// errors, damaged ranges), decoded by threads of its own while you use the records.
///
///     infeed::ParallelRecordReader reader("train-00000-of-00016.tfrecord");
///     infeed::Record record;
///     while (reader.next(record)) use(record.bytes());
///
/// | file                     | how it is shared                                                  |
/// |--------------------------|-------------------------------------------------------------------|
/// | plain                    | at borders from NAME.index, else where a search finds records     |
/// | lz4                      | at blocks, by the index inside it                                 |
/// | gzip with NAME.points    | at its flush points (RecordWriterOptions::flush_point_bytes)      |
/// | other gzip, zlib, a pipe | not: one thread decodes ahead                                     |
/// | a URL                    | not: the same, while several ranges are fetched at once           |
///
/// What lies beside the data is only a hint: where it is wrong, or the data is damaged, a
/// RecordReader takes over, so that a wrong hint costs time and never a record.
///
/// Errors: as RecordReader; after one the file is over. `on_damage` is called from inside the
/// reading call.
/// Thread-safety: one thread at a time. Records outlive the reader.
namespace infeed {

struct ParallelRecordReaderOptions {
  /// Calls what it is given, once, and must not throw.
  using Around = std::function<void(const std::function<void()>& work)>;

  RecordReaderOptions reader = {};
  unsigned threads = 0;  ///< 0: as many as there are cores
  /// What one thread does at a time, in decompressed bytes.
  std::uint64_t segment_bytes = std::uint64_t{1} << 20;
  /// Decoded and not yet taken, about; a segment a thread at least. Threads that don't work now
  /// (threads_now) leave out their share. 0: two segments for each thread. Two threads in the page
  /// cache read 2 KB records at 4.9 million a second so, at 4.2 with one segment each, and at 4.4 with
  /// eight or more, which no cache holds.
  std::uint64_t read_ahead_bytes = 0;
  /// The blocks of readers that follow each other (spare_blocks.h); it may be null.
  std::shared_ptr<SpareBlocks> spare_blocks = {};
  /// Each of its threads calls it first, with the name "reader"; it must not throw.
  std::function<void(std::string_view)> on_thread_start = {};
  /// How many of `threads` work from now on; it may change at any time, and is looked at once a
  /// segment. The others end. At 0 the reading call itself reads a plain file; another one keeps a
  /// thread. Null: all of them work.
  std::shared_ptr<const std::atomic<unsigned>> threads_now = {};
  /// For accounts of time: each of its threads decodes by way of the first, and the reading call waits
  /// for them by way of the second.
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

  /// Fills the front of `out` with what is at hand, at least one record; 0 is the end.
  std::size_t read(std::span<Record> out);
  /// False is the end; `out` is then untouched.
  bool next(Record& out);

  /// Does what RecordReader::skip does. Before the first record is read it costs what it costs
  /// there, and threads begin behind it; a gzip file is then read by one thread, since its checksum
  /// is of the whole. Later the records are read and dropped.
  std::uint64_t skip(std::uint64_t count);
  /// Records handed out or passed over so far, those before an error included.
  std::uint64_t records_passed() const;

  const std::string& file() const;
  Compression compression() const;
  /// These are what they are in RecordReader.
  std::optional<std::uint64_t> file_bytes() const;
  const std::vector<DamagedRange>& damaged() const;
  /// "split by the index", or why the file could not be: for people who wonder about a speed.
  const std::string& how() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace infeed
