#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/compression.h>
#include <infeed/records/record.h>
#include <infeed/records/url_options.h>

namespace infeed {

struct FixedLengthRecordsOptions {
  Count header_bytes = 0;  ///< passed over at the front of each file
  Count footer_bytes = 0;  ///< and at its end
  /// gzip and lz4 are told by content; zlib has to be named, as data may begin like it.
  Compression compression = Compression::automatic;
  UrlOptions url = {};  ///< where files are named by URLs
  StageName name = {};  ///< as in StageOptions
};

/// Why: gives the records of files in which each has the same length, with nothing between them, as
/// CIFAR's are; tf.data's FixedLengthRecordDataset.
///
///     auto images = infeed::fixed_length_records("data_batch_*.bin", 3073)
///         | infeed::map([](const infeed::Record& image) { return int(image.bytes()[0]); });
///
/// An element is a Record (records/record.h) that knows its file, its number in it and its offset;
/// its bytes are those that were read, uncopied. Patterns are those of infeed::match_files, looked
/// up when the source is described; plain files, .gz, .lz4, URLs.
///
/// Where all files are local and not compressed, the number of records is known and skipping (a
/// resume) seeks; else the bytes that are skipped are read.
///
/// Errors are an element's and cost the rest of their file; the next one follows. The size of a file
/// that isn't compressed must be header_bytes + k * record_bytes + footer_bytes; else it is data_loss
/// in the place of the whole file, as its records may lie anywhere. Of a compressed one that is found
/// at its end, behind its records. A pattern that nothing matches, and records of 0 bytes, are thrown
/// when the source is described.
Dataset<Record> fixed_length_records(const std::string& pattern, Count record_bytes,
                                     FixedLengthRecordsOptions options = {});
/// A list of names, in its order; none of them needs to exist yet.
Dataset<Record> fixed_length_records(std::vector<std::string> files, Count record_bytes,
                                     FixedLengthRecordsOptions options = {});
Dataset<Record> fixed_length_records(std::initializer_list<std::string> files, Count record_bytes,
                                     FixedLengthRecordsOptions options = {});

}  // namespace infeed
