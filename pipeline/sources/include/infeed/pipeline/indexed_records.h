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

/// Gives the records of TFRecord shards as records() does, but any record can be read by its row
/// number. So the number of records is known, a true shuffle of all of them needs no buffer,
/// skipping and resuming cost nothing, and a checkpoint can be resharded.
///
///     infeed::indexed_records("data/train-*.tfrecord") | infeed::global_shuffle({.seed = 42})
///                                                      | infeed::parse<Sample>(schema)
///
/// Chosen rows in any order, for example a validation split:
///
///     const infeed::RecordSet all("data/train-*.tfrecord");
///     infeed::indexed_records(all.select({5, 3, 99}))
///
/// It needs local, plain files with NAME.index beside them (`infeed convert` and `infeed index`
/// write it), or with a manifest. record_set.h says where else the places can come from, and what
/// is refused when the source is described. A random row costs a system call, about as much as
/// copying 4 KB. Rows near each other are read together, so in order it is as quick as records(),
/// except for records of some hundred bytes. For those, and on slow disks, records() and shuffle()
/// are quicker than a global_shuffle of rows.
///
/// An error is an element's and costs one row: the damaged one, or each row of a missing file. No
/// other row is affected, wherever in the file the damage is. (With records() the rest of the file
/// is lost.) record_set.h lists the errors. The number of elements is the same with and without
/// errors.
///
/// One thread reads. Elements of neighbouring rows share the block that they were read in.
Dataset<Record> indexed_records(const std::string& pattern, IndexedRecordsOptions options = {});
/// Reads a list of names, in its order.
Dataset<Record> indexed_records(std::vector<std::string> files, IndexedRecordsOptions options = {});
Dataset<Record> indexed_records(std::initializer_list<std::string> files,
                                IndexedRecordsOptions options = {});
/// Reads a set that the program has already. Its places and open files are shared.
Dataset<Record> indexed_records(const RecordSet& set, StageOptions options = {});

}  // namespace infeed
