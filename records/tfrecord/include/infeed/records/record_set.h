#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "infeed/count.h"
#include "infeed/records/record.h"
#include "infeed/records/record_reader.h"

/// Why: shards are one list of records, in the order of their names, and a program wants row
/// 4,711,000 of it, or how many there are, or a tenth of them for validation, without reading what
/// lies before.
///
///     const infeed::RecordSet set("data/train-*.tfrecord");
///     std::uint64_t rows = set.size();
///     infeed::Record record = set.at(rows / 2);      // from any thread
///     const infeed::RecordSet some = set.select({5, 3, 99});  // three rows, in this order
///
/// In a pipeline: infeed::indexed_records (indexed_records.h).
///
/// Where the records of a file are is said by NAME.index beside it (`infeed convert` writes it, and
/// `infeed index`). Without one, a manifest beside the shards says how many there are, and the
/// file's headers are read when its first record is asked for. Without both the set is refused
/// (failed_precondition): WithoutIndex::scan reads the headers of such files when the set is made,
/// which for small records is as much as reading them. Making a set opens indices and no data file
/// that has one.
///
/// Local, plain files only: a compressed one is refused (its records are not at fixed places), a
/// URL as well; records() reads both in order.
///
/// Every record is checked against its place: it must begin there with a valid length that is the
/// index's, and its payload must have its checksum. So an index that lies can't give wrong records.
///
/// | what                                     | what at() throws                                  |
/// |------------------------------------------|---------------------------------------------------|
/// | a damaged record                         | data_loss with file, offset, record; no other     |
/// |                                          | record is affected, wherever the damage is        |
/// | a file that is shorter than its index    | data_loss, for the records beyond its end         |
/// | one that is longer, or has another count | failed_precondition, for all records of that file |
/// | a file or index that is gone or damaged  | that error, for all records of that file          |
/// | a row beyond size()                      | invalid_argument                                  |
///
/// Memory: 4.2 bytes a record of the files that were read from so far, and eight a row that select()
/// chose; memory_bytes_max() says how much that can become. A record has memory of its
/// own, or shares it with its neighbours (see read()).
///
/// Thread-safety: a value, cheap to copy; all functions may be called by any threads at once.
namespace infeed {

enum class WithoutIndex {
  refuse,
  scan,  ///< read the headers of files that have neither index nor manifest
};

struct RecordSetOptions {
  Verify verify = Verify::everything;
  WithoutIndex without_index = WithoutIndex::refuse;
  /// Files that are read from stay open, so many at most. Opening one takes some microseconds.
  Count open_files_max = 256;
};

class RecordSet {
 public:
  /// The pattern is one of match_files().
  explicit RecordSet(const std::string& pattern, RecordSetOptions options = {});
  explicit RecordSet(std::vector<std::string> files, RecordSetOptions options = {});
  explicit RecordSet(std::initializer_list<std::string> files, RecordSetOptions options = {});

  std::uint64_t size() const;
  /// Returns the bytes of the places of all files' records, and of the rows that select() chose.
  /// (Twice as much of a file in which some 64 neighbours have more than 4 GiB.)
  std::uint64_t memory_bytes_max() const;
  Record at(std::uint64_t row) const;

  /// The same for several rows at once, which is quicker: `out` takes their records in the order
  /// given. Records that lie near each other are read together and share memory, as those of a
  /// RecordReader do. It returns how many there are: up to rows.size(), at least one, and no more
  /// than some MiB at a time. It stops in front of a record that can't be read; the call that
  /// begins with that one throws.
  ///
  ///     const infeed::RecordSet set("data/train-*.tfrecord");
  ///     const std::vector<std::uint64_t> rows = {7, 8, 123'456};
  ///     std::vector<infeed::Record> records(rows.size());
  ///     std::size_t read = set.read(rows, records);
  std::size_t read(std::span<const std::uint64_t> rows, std::span<Record> out) const;

  /// The set of these rows of this one, in this order; a row may come several times. The files
  /// stay shared. Throws invalid_argument for a row beyond size().
  RecordSet select(std::vector<std::uint64_t> rows) const;

  const std::vector<std::string>& files() const;
  /// Where a row lies; reads nothing. Throws invalid_argument for a row beyond size().
  struct Place {
    std::string file;
    std::uint64_t record = 0;  ///< number in the file, from 0
  };
  Place place_of(std::uint64_t row) const;
  /// Returns what select() chose, as rows of all files' records; null where it wasn't called.
  const std::vector<std::uint64_t>* selected() const { return rows_.get(); }
  const RecordSetOptions& options() const;

 private:
  class Shards;

  void require_row(std::uint64_t row) const;

  std::shared_ptr<const Shards> shards_;
  std::shared_ptr<const std::vector<std::uint64_t>> rows_;
};

}  // namespace infeed
