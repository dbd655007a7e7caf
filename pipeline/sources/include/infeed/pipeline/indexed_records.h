#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/record_set.h>

namespace infeed {

struct IndexedRecordsOptions {
  Verify verify = Verify::everything;
  WithoutIndex without_index = WithoutIndex::refuse;
  Count open_files_max = RecordSetOptions().open_files_max;
  StageName name = {};  ///< as in StageOptions
};

/// Why: these are the records of TFRecord shards, as records() gives them, but any of them can be
/// asked for by its row. So their number is known, a true shuffle of all of them holds nothing,
/// skipping and resuming cost nothing anywhere, and a checkpoint can be resharded.
///
///     infeed::indexed_records("data/train-*.tfrecord") | infeed::global_shuffle({.seed = 42})
///                                                      | infeed::parse<Sample>(schema)
///
/// Some of the rows, in an order of one's own, as for a validation split:
///
///     const infeed::RecordSet all("data/train-*.tfrecord");
///     infeed::indexed_records(all.select({5, 3, 99}))
///
/// It needs local, plain files with NAME.index beside them (`infeed convert` and `infeed index`
/// write it), or with a manifest: record_set.h says where the places come from otherwise, and what
/// is refused when the source is described. A row at random costs a system call, about as much as
/// copying 4 KB; rows near each other are read together, so that in order it is as quick as
/// records(), but for records of some hundred bytes. From slow disks, and for those, records() and
/// shuffle() are quicker than a global_shuffle of rows.
///
/// Errors are elements', each for one row: the one that is damaged, and all of a file that is gone.
/// No other row is affected, wherever in the file the damage is, which records() can't say: there
/// the rest of the file goes with it. record_set.h lists them. The number of elements is the same
/// with errors and without.
///
/// One thread reads. Elements of neighbouring rows share the block that they were read in.
Dataset<Record> indexed_records(const std::string& pattern, IndexedRecordsOptions options = {});
/// A list of names, in its order.
Dataset<Record> indexed_records(std::vector<std::string> files, IndexedRecordsOptions options = {});
Dataset<Record> indexed_records(std::initializer_list<std::string> files,
                                IndexedRecordsOptions options = {});
/// A set that a program has already; its places and open files are shared.
Dataset<Record> indexed_records(const RecordSet& set, StageOptions options = {});

}  // namespace infeed
