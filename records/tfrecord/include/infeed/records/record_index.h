#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "infeed/records/record.h"
#include "infeed/records/record_reader.h"

/// Why: with the place of every record known, a file can be read at random, counted at once, cut
/// into parts for several threads, and continued in the middle.
///
///     infeed::RecordIndex index = infeed::index_records("train-00000-of-00016.tfrecord");
///     infeed::write_index(index, "train-00000-of-00016.tfrecord.index");
///
///     const infeed::IndexedRecords records("train-00000-of-00016.tfrecord", index);
///     infeed::Record record = records.read(4711);
///
/// Two kinds of index file: ours (binary, checksummed, bound to its data file by size and by a
/// checksum of both ends; records/index_format.md) and DALI's (text, a line `offset size` a
/// record). Only plain files can be indexed.
///
/// Errors: data_loss for a damaged index or record; failed_precondition for an index that does not
/// belong to the file as it is now, which says that it should be made anew.
///
/// Thread-safety: RecordIndex is a value; IndexedRecords may be read by any threads at once.
namespace infeed {

struct RecordIndex {
  /// The place of each record's header, ascending from 0; there is one more entry than records, the
  /// end of the file.
  std::vector<std::uint64_t> offsets = {0};
  /// CRC-32C of the first and the last 4 KiB of the data file.
  std::uint32_t ends_crc = 0;

  std::uint64_t size() const { return offsets.size() - 1; }
  std::uint64_t file_bytes() const { return offsets.back(); }
  RecordPosition position(std::uint64_t record) const { return {record, offsets.at(record)}; }
  bool operator==(const RecordIndex&) const = default;
};

/// Reads the headers of a plain file; large payloads are passed over. The file must be whole.
/// Throws cancelled after a stop request.
RecordIndex index_records(const std::string& file, const std::stop_token& stop = {});

/// Writes it under a partial name and renames it then, as RecordWriter does; an index that is there
/// is replaced.
void write_index(const RecordIndex& index, const std::string& index_file);
/// Reads either kind, which it tells by content. The DALI kind holds no checksum of the data.
RecordIndex read_index(const std::string& index_file);
/// Writes the index that NVIDIA DALI's tfrecord2idx writes.
void write_dali_index(const RecordIndex& index, const std::string& index_file);

/// Throws failed_precondition when size or ends of the data file are not those of the index.
void require_index_of(const RecordIndex& index, const std::string& file);

class IndexedRecords {
 public:
  /// Checks that the index belongs to the file.
  IndexedRecords(const std::string& file, RecordIndex index, Verify verify = Verify::everything);
  ~IndexedRecords();
  IndexedRecords(IndexedRecords&&) noexcept;
  IndexedRecords& operator=(IndexedRecords&&) noexcept;

  std::uint64_t size() const;
  const RecordIndex& index() const;
  /// One system call. The record has memory of its own. invalid_argument beyond size().
  Record read(std::uint64_t record) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace infeed
