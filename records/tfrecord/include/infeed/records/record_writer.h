#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "infeed/records/compression.h"
#include "infeed/records/file_sum.h"
#include "infeed/records/output_file.h"
#include "infeed/records/record_index.h"
#include "infeed/records/record_reader.h"

/// Why: writes one TFRecord file that nobody can take for whole before it is. The bytes go to
/// `.NAME.partial` in the same folder; close() renames it to NAME.
///
///     infeed::RecordWriter writer("train-00000-of-00016.tfrecord");
///     for (const Sample& sample : samples) writer.write(schema.encode(sample));
///     writer.close();
///
/// Without close() (an exception, an early return) the destructor removes the partial file. A
/// killed process leaves `.NAME.partial`, which no pattern without a leading dot matches and the
/// next writer of NAME takes over. Two processes can't write the same NAME at once: the second is
/// refused.
///
/// Errors: already_exists, not_found (the folder), permission_denied, resource_exhausted (disk or
/// quota full), data_loss (the device fails). After an error the file is given up: close() throws.
///
/// Thread-safety: one thread at a time; different files are independent.
namespace infeed {

struct RecordWriterOptions {
  /// none, gzip or zlib; TensorFlow reads all three. One stream a file: its reader loses data
  /// behind some borders between streams. lz4 is larger and several times faster to read; every
  /// program that knows LZ4 frames decompresses it (records/lz4_format.md).
  Compression compression = Compression::none;
  /// 0 (fastest) to 9 (smallest): 0 to 3 are ISA-L's levels, those above zlib's, several times
  /// slower. LZ4 has 0 to 3: its fast form (0, 1) and its slow one. Empty: 1. A plain file has none.
  std::optional<int> compression_level = std::nullopt;
  /// gzip only: a flush point after about so many bytes (decompressed), at the next record, and a
  /// file NAME.points beside the data that names them (records/flush_points_format.md). The gzip
  /// file stays one member that everybody reads; ParallelRecordReader then uses several threads. At
  /// 1 MiB it costs nothing in size. 0: none.
  std::uint64_t flush_point_bytes = 0;
  /// Plain files only: keeps the place of every record (8 bytes each) for index().
  bool index = false;
  /// Hashes what is written for file_sum().
  bool file_sum = false;
  ExistingFile existing = ExistingFile::refuse;
  /// How durable close() makes the file.
  Durability durability = Durability::leave_to_system;
  /// Bytes gathered before the system is called: whole multiples of 4 KiB, 256 KiB at least.
  std::size_t buffer_bytes = std::size_t{1} << 20;
};

class RecordWriter {
 public:
  /// A name that is a device or a pipe is written directly.
  explicit RecordWriter(std::string file, RecordWriterOptions options = {});
  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) noexcept;
  ~RecordWriter();

  void write(std::string_view bytes);
  /// Flushes, syncs where asked, and gives the file its name. Call it once; it throws if anything
  /// failed before.
  void close();
  /// Gives up: removes what was written.
  void discard() noexcept;

  /// Both describe the finished file: they may be called after close(), when they were asked for.
  const RecordIndex& index() const;
  FileSum file_sum() const;

  /// Where the next record goes (offset before compression): what an index stores.
  RecordPosition position() const;
  /// The name that the file will have.
  const std::string& file() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace infeed
